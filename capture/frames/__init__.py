"""Python frames: hook, decoding, tracing, guards and assembling of replacement code."""
