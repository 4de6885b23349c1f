import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

/** A provider that says what a test wants, also what no provider may. */
export interface ForgedProvider extends AsyncDisposable {
  readonly issuer: string;
  /** The claims of the next ID token, beside issuer, audience and times that are right. */
  claims: Readonly<Record<string, unknown>>;
  /** Signs with a key that it does not publish. */
  hasOtherKey: boolean;
  /** Writes the response instead, of any path. */
  answer: ((response: ServerResponse) => void) | undefined;
  /** How often it was asked. */
  readonly requests: () => number;
}

export const aForgedProvider = async (clientId: string): Promise<ForgedProvider> => {
  const [own, other] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')]);
  const keys = [{ ...(await exportJWK(own.publicKey)), alg: 'ES256', kid: 'own', use: 'sig' }];
  let requests = 0;
  const send = async (path: string, response: ServerResponse): Promise<void> => {
    requests += 1;
    if (forged.answer) return forged.answer(response);
    const { issuer } = forged;
    const json = (value: object): void =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (path === '/keys') return json({ keys });
    if (path === '/token') {
      const { privateKey } = forged.hasOtherKey ? other : own;
      const seconds = Math.floor(Date.now() / 1_000);
      const claims = { iss: issuer, aud: clientId, iat: seconds, exp: seconds + 300, ...forged.claims };
      const id_token = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'ES256', kid: 'own' })
        .sign(privateKey);
      return json({ access_token: 'none', token_type: 'Bearer', id_token });
    }
    return json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    });
  };
  const server = createServer((request, response) => void send(String(request.url), response));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  // A listening TCP server has such an address.
  const { port } = server.address() as AddressInfo;
  const forged: ForgedProvider = {
    issuer: `http://127.0.0.1:${port}`,
    claims: {},
    hasOtherKey: false,
    answer: undefined,
    requests: () => requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return forged;
};
