import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startMoto, type S3Server } from '@runledger/local-servers/moto';
import { messageOf } from '@runledger/resilience/errors';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where a test asks for the S3-compatible store that all tests share. */
    sharedS3: string;
  }
}

/**
 * The one Moto of a test run, which takes seconds to start: it starts when the first test asks, and ends with `open`. Returns the URL that answers with
 * its own, or with 503 and the reason.
 */
export const openSharedS3 = async (env: NodeJS.ProcessEnv, open: AsyncDisposableStack): Promise<string> => {
  let moto: Promise<S3Server> | undefined;
  const answer = async (response: ServerResponse): Promise<void> => {
    try {
      moto ??= startMoto({ env });
      response.end((await moto).url);
    } catch (error) {
      response.writeHead(503).end(messageOf(error));
    }
  };
  const asked = createServer((_request, response) => void answer(response));
  asked.listen(0, '127.0.0.1');
  await once(asked, 'listening');
  open.defer(async () => {
    asked.closeAllConnections();
    asked.close();
    const server = await moto?.catch(() => undefined);
    server?.kill('SIGKILL');
    await server?.exited;
  });
  // A TCP server has an address object, no path.
  const { port } = asked.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
};
