/** Sends requests for `requests.ts`, from a process of its own: over some connections, one request after the other on each. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';

/** Each request is a whole HTTP/1.1 message; they are sent in turns. */
export interface Load {
  readonly port: number;
  readonly requests: readonly string[];
  readonly count: number;
}

const CONNECTIONS = 64;

export interface LoadProcess extends AsyncDisposable {
  /** Resolves when each request has its response. @throws when one is not 200 */
  send(load: Load): Promise<void>;
}

export const startLoad = (): LoadProcess => {
  const child = fork(import.meta.filename, ['load'], { execArgv: [] });
  return {
    send: async (load) => {
      child.send(load);
      const [failure] = (await once(child, 'message')) as [string | null];
      if (failure !== null) throw new Error(failure);
    },
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await once(child, 'exit');
    },
  };
};

const sendAll = async ({ port, requests, count }: Load): Promise<void> => {
  const prepared = requests.map((request) => Buffer.from(request));
  let next = 0;
  const one = async (): Promise<void> => {
    const socket = connect(port, '127.0.0.1').setNoDelay();
    await once(socket, 'connect');
    let answer = '';
    const send = (): void => {
      const request = prepared[next % prepared.length];
      if (next >= count || !request) return void socket.destroy();
      next += 1;
      socket.write(request);
    };
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.on('close', () => resolve());
    socket.on('error', reject);
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      answer += chunk;
      const head = answer.indexOf('\r\n\r\n');
      const length = /^content-length: *(\d+)/im.exec(answer.slice(0, head))?.[1];
      if (head === -1 || answer.length < head + 4 + Number(length)) return;
      if (!answer.startsWith('HTTP/1.1 200')) socket.destroy(new Error(answer.slice(0, 300)));
      answer = '';
      send();
    });
    send();
    await promise;
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
};

if (process.argv[2] === 'load') {
  process.on('message', (load: Load) => {
    sendAll(load).then(
      () => process.send?.(null),
      (error: unknown) => process.send?.(String(error)),
    );
  });
}
