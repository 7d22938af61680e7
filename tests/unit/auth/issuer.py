"""An issuer of JWTs on this machine: real keys, and a real server that publishes them, correctly or not."""

import json
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from tests.fakes import FakeClock
from tests.unit.loopback import Loopback

ISSUER = "https://issuer.example.org/"
AUDIENCE = "scrubjay"
NOW = datetime.fromisoformat("2026-05-01T12:00:00Z")

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


def still_clock() -> FakeClock:
    """Return a clock that stays at the time of these tests."""
    return FakeClock(NOW, step=timedelta(0))


class ManualClock:
    """A monotonic clock that tests set."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@dataclass(frozen=True, kw_only=True)
class Signer:
    """A key pair, and its key id."""

    kid: str
    algorithm: str
    private: PrivateKey

    @property
    def jwk(self) -> dict[str, Any]:
        maker = {"RS": RSAAlgorithm, "PS": RSAAlgorithm, "ES": ECAlgorithm, "Ed": OKPAlgorithm}[self.algorithm[:2]]
        public: Any = self.private.public_key()
        return {**maker.to_jwk(public, as_dict=True), "kid": self.kid}

    def sign(self, claims: dict[str, Any], **headers: Any) -> str:
        return jwt.encode(claims, self.private, algorithm=self.algorithm, headers={"kid": self.kid, **headers})


@cache
def rsa_key(place: int = 0, bits: int = 2048) -> rsa.RSAPrivateKey:
    """Make a key pair once for all tests, because it takes a while."""
    del place
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def signer(kid: str = "first", algorithm: str = "ES256") -> Signer:
    """Return a signer for any of the accepted algorithms."""
    curves: dict[str, ec.EllipticCurve] = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
    if algorithm in curves:
        return Signer(kid=kid, algorithm=algorithm, private=ec.generate_private_key(curves[algorithm]))
    if algorithm == "EdDSA":
        return Signer(kid=kid, algorithm=algorithm, private=ed25519.Ed25519PrivateKey.generate())
    return Signer(kid=kid, algorithm=algorithm, private=rsa_key())


def claims(**changed: Any) -> dict[str, Any]:
    """Return the claims of a valid token; None leaves a claim out."""
    now = int(NOW.timestamp())
    good = {
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": now + 600, "nbf": now - 5, "iat": now - 5,
        "spaces": ["work", "home"], "scope": "openid scrubjay:read",
    }  # fmt: skip
    return {name: value for name, value in {**good, **changed}.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A response of the server instead of its keys; `hang` never answers."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    hang: bool = False


class JwksServer(Loopback):
    """Publishes keys under `/jwks`; scripted replies go first, one for each request."""

    def __init__(self, *signers: Signer) -> None:
        self.signers = list(signers)
        self.script: deque[Reply] = deque()
        self.requested_paths: list[str] = []
        super().__init__(_handler_of(self), path="/jwks")

    def reply_to(self, path: str) -> Reply:
        self.requested_paths.append(path)
        if self.script:
            return self.script.popleft()
        return Reply(body=document(*self.signers))


def document(*signers: Signer) -> bytes:
    """Return a JWKS with the public keys of these signers."""
    return json.dumps({"keys": [signer.jwk for signer in signers]}).encode()


def _handler_of(server: JwksServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reply = server.reply_to(self.path)
            if reply.hang:
                server.released.wait(timeout=60)
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    return Handler
