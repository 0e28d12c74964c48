"""The Web API's methods by family; ``METHODS`` in ``localslack.methods.registry`` lists them all."""
