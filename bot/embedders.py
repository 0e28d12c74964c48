"""The embedding models as the settings choose them."""

from bot.settings import EngineSettings
from retrieval import EmbedderFactory
from retrieval.endpoint import EndpointOptions


def embedder_factory(settings: EngineSettings) -> EmbedderFactory:
    """Return what picks the model for a build or for an artifact."""
    options = EndpointOptions(allow_public=settings.embedding_allow_public, query_seconds=settings.embedding_seconds)
    return EmbedderFactory(settings.embedding_url, settings.embedding_model, options=options)
