def wait_before_retry(response, attempt: int, random) -> float:
    """Seconds to wait: what the server says, else exponential, always with jitter."""
    told = response.headers.get("Retry-After")
    base = float(told) if told else min(60.0, 0.5 * 2**attempt)
    return base + random.uniform(0, base * 0.25)
