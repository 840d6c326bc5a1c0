"""Drives an OpenAI-compatible frontend with multi-turn sessions of token ids."""

import asyncio
import dataclasses
import random

import aiohttp


@dataclasses.dataclass
class Result:
    sent: int = 0
    failures: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Load:
    """Sessions that come back with ever longer prompts, and long prompts that
    nobody has sent before. A worker that is busy with one of the latter is one
    that a session should rather not go back to, although its prefix is there:
    without such choices there would be nothing to compare."""

    sessions: int = 10
    turns: int = 8
    strangers: int = 50
    seconds: float = 15
    seed: int = 7
    # A token id of the tiny tokenizer is below it, and 0 is special.
    vocabulary: int = 590

    @property
    def requests(self):
        return self.sessions * self.turns + self.strangers


class Driver:
    def __init__(self, client, url, model, load):
        self.client, self.url, self.model, self.load = client, url, model, load
        self.result = Result()

    def tokens(self, rng, least, most):
        return [rng.randrange(1, self.load.vocabulary) for _ in range(rng.randint(least, most))]

    async def send(self, session, prompt, output):
        body = {"model": self.model, "prompt": prompt, "max_tokens": output, "ignore_eos": True}
        self.result.sent += 1
        try:
            async with self.client.post(self.url, json=body, headers={"x-dynamo-session-id": session}) as response:
                text = await response.text()
                if response.status != 200:
                    self.result.failures.append(f"{response.status} {text[:200]}")
        except (aiohttp.ClientError, asyncio.TimeoutError) as e:
            self.result.failures.append(repr(e))

    async def session(self, number):
        rng = random.Random(self.load.seed * 1000 + number)
        await asyncio.sleep(rng.uniform(0, 1))
        prompt = self.tokens(rng, 1200, 2400)
        for _ in range(self.load.turns):
            prompt += self.tokens(rng, 20, 200)
            output = rng.randint(8, 48)
            await self.send(f"session-{number:02d}", prompt, output)
            prompt += self.tokens(rng, output, output)
            await asyncio.sleep(rng.uniform(0, 2 * self.load.seconds / self.load.turns - 1))

    async def stranger(self, number):
        rng = random.Random(self.load.seed * 1000 + 500 + number)
        await asyncio.sleep(rng.uniform(0, self.load.seconds))
        await self.send(f"stranger-{number:02d}", self.tokens(rng, 4000, 7000), rng.randint(4, 16))


async def drive(port, model, load):
    """Sends the whole load and returns what became of it."""
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as client:
        driver = Driver(client, f"http://127.0.0.1:{port}/v1/completions", model, load)
        await asyncio.gather(*map(driver.session, range(load.sessions)), *map(driver.stranger, range(load.strangers)))
    return driver.result
