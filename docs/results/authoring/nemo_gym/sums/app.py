# NeMo Gym 0.5.1, commit 07d6b0d
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseRunRequest,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)


class SumsConfig(BaseResourcesServerConfig):
    pass


class SumsRunRequest(BaseRunRequest):
    expected: str


class SumsVerifyRequest(SumsRunRequest, BaseVerifyRequest):
    pass


class SumsVerifyResponse(BaseVerifyResponse):
    expected: str
    correct: float
    unparsed: float


def parse(text: str) -> str | None:
    _, found, rest = text.rpartition("Answer:")
    answer = rest.partition("\n")[0].strip()
    return answer if found and answer else None


class SumsServer(SimpleResourcesServer):
    config: SumsConfig

    async def verify(self, body: SumsVerifyRequest) -> SumsVerifyResponse:
        answer = parse(body.response.output_text)
        correct, unparsed = float(answer == body.expected), float(answer is None)
        tokens = body.response.usage.output_tokens if body.response.usage else 0
        reward = correct - 0.2 * unparsed - 0.1 * correct * min(tokens, 64) / 64
        return SumsVerifyResponse(**body.model_dump(), reward=reward, correct=correct, unparsed=unparsed)


if __name__ == "__main__":
    SumsServer.run_webserver()
