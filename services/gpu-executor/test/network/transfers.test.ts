import { createHash, randomBytes } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { openPrograms, start } from '../runners/program/run-a-program.ts';
import { holders, httpServer, listening, openNetwork } from './network-bed.ts';

const MIB = 1024 * 1024;

/** The start of a program: `tunnel(port)` resolves with a socket to the machine. */
const TUNNEL = `
const http = require('node:http');
const { hostname, port: proxyPort } = new URL(process.env.HTTP_PROXY);
const tunnel = (port) =>
  new Promise((resolve, reject) => {
    http.request({ host: hostname, port: proxyPort, method: 'CONNECT', path: '127.0.0.1:' + port, agent: false })
      .on('connect', (response, socket, early) => {
        if (response.statusCode !== 200) return reject(new Error(response.statusMessage));
        socket.unshift(early);
        resolve(socket);
      })
      .on('error', reject).end();
  });
`;

const code = (script: string, ...args: unknown[]) => ({
  command: process.execPath,
  args: ['-e', TUNNEL + script, ...args.map(String)],
});

/** Reads in steps, and asks after each how much was sent by then. */
const READS_SLOWLY = `
const [port, control] = process.argv.slice(1).map(Number);
(async () => {
  const socket = await tunnel(port);
  const hash = require('node:crypto').createHash('sha256');
  let [read, step, ahead] = [0, 0, 0];
  for await (const chunk of socket) {
    hash.update(chunk);
    read += chunk.length;
    if (read < step) continue;
    step += 8 * 1024 * 1024;
    const sent = await new Promise((resolve) => http.get({ host: hostname, port: proxyPort, path: 'http://127.0.0.1:' + control + '/', agent: false }, (response) => response.on('data', (text) => resolve(Number(text)))));
    ahead = Math.max(ahead, sent - read);
  }
  console.error(read + ' ' + ahead + ' ' + hash.digest('hex'));
})();
`;

describe.each(holders)('a connection through the proxy, with %s', (_name, isolation) => {
  it('passes on 48 MiB, as fast as the program reads them', async () => {
    const piece = randomBytes(MIB);
    const hash = createHash('sha256');
    let sent = (): number => 0;
    const source = createServer((socket) => {
      let pieces = 0;
      sent = () => socket.bytesWritten - socket.writableLength;
      const more = (): void => {
        while (pieces < 48) {
          pieces += 1;
          hash.update(piece);
          if (!socket.write(piece)) return void socket.once('drain', more);
        }
        socket.end();
      };
      more();
    });
    const control = await httpServer((_request, response) => void response.end(String(sent())));
    const { proxy } = await openNetwork(['loopback']);
    const program = code(READS_SLOWLY, await listening(source), control);
    const { result, lines } = await start('', { isolation, proxy, program });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    const [read, ahead, digest] = lines[0]?.line.split(' ') ?? [];
    expect({ read, digest }).toEqual({ read: String(48 * MIB), digest: hash.digest('hex') });
    // The rest is in the buffers of the system.
    expect(Number(ahead)).toBeLessThan(20 * MIB);
  });

  it('lets the program go on reading when it has sent everything, and the other way round', async () => {
    const answersAtTheEnd = createServer({ allowHalfOpen: true }, (socket) => {
      let read = 0;
      socket.on('data', (chunk) => (read += chunk.length));
      socket.on('end', () => socket.end(`read ${read}`));
    });
    const script = `(async () => {
      const socket = await tunnel(Number(process.argv[1]));
      socket.end(Buffer.alloc(3_000_000));
      socket.on('data', (text) => console.error(String(text)));
    })();`;
    const { proxy } = await openNetwork(['loopback']);
    const program = code(script, await listening(answersAtTheEnd));
    const { result, lines } = await start('', { isolation, proxy, program });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(lines.map(({ line }) => line)).toEqual(['read 3000000']);
  });

  it('ends with its run, also when the server never ends, and the next run of the same supervisor has its own', async () => {
    const accepted: Socket[] = [];
    const holdsOn = createServer({ allowHalfOpen: true }, (socket) => {
      accepted.push(socket);
      socket.resume();
      socket.write('hello');
    });
    const port = await listening(holdsOn);
    const script = `(async () => {
      const [one, other] = [await tunnel(${port}), await tunnel(${port})];
      await Promise.all([one, other].map((socket) => new Promise((resolve) => socket.once('data', resolve))));
      one.end();
      console.error(process.ppid + ' ' + proxyPort);
      process.kill(process.pid, 'SIGKILL');
    })();`;
    const { proxy, connections } = await openNetwork(['loopback']);
    const run = await openPrograms({ isolation, proxy, program: code(script) });
    const ports: (string | undefined)[] = [];
    for (const runs of [1, 2]) {
      const { result, lines } = run('');
      expect(await result).toMatchObject({ outcome: 'failed' });
      ports.push(lines[0]?.line);
      expect(connections.map(({ destroyed }) => destroyed)).toEqual(
        Array.from({ length: 2 * runs }, () => true),
      );
    }
    expect(accepted).toHaveLength(4);
    // One supervisor, with one listener.
    expect(new Set(ports).size).toBe(1);
  });

  it('ends when the server breaks it off', async () => {
    const breaksOff = createServer((socket) => {
      socket.once('data', () => socket.resetAndDestroy());
    });
    const script = `(async () => {
      const socket = await tunnel(Number(process.argv[1]));
      socket.on('error', () => undefined).once('close', () => console.error('closed'));
      socket.write('x');
    })();`;
    const { proxy } = await openNetwork(['loopback']);
    const program = code(script, await listening(breaksOff));
    const { result, lines } = await start('', { isolation, proxy, program });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(lines.map(({ line }) => line)).toEqual(['closed']);
  });

  it('is broken off in the middle of an answer, and before it, as the server does it', async () => {
    const server = createServer((socket) => {
      socket.once('data', (request) => {
        if (String(request).startsWith('GET /later'))
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf');
        socket.end();
      });
    });
    const port = await listening(server);
    const script = `
      const ask = (path, then) => http.get({ host: hostname, port: proxyPort, path: 'http://127.0.0.1:${port}' + path, agent: false }, then);
      ask('/at-once', (response) => response.on('data', (text) => console.error(response.statusCode + ' ' + String(text).trim())).on('end', () => {
        ask('/later', (later) => later.on('data', (text) => console.error(String(text))).on('error', (error) => console.error(error.code)));
      }));`;
    const { proxy } = await openNetwork(['loopback']);
    const { result, lines } = await start('', { isolation, proxy, program: code(script) });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(lines.map(({ line }) => line)).toEqual([
      `502 127.0.0.1:${port} closed the connection before it answered (ECONNRESET).`,
      'half',
      'ECONNRESET',
    ]);
  });

  it('is one of 256 at once, and the next one is told so', async () => {
    const server = createServer();
    const script = `(async () => {
      const sockets = [];
      for (let count = 0; count < 256; count += 1) sockets.push(await tunnel(Number(process.argv[1])));
      await tunnel(Number(process.argv[1])).catch((error) => console.error(error.message));
      sockets[0].destroy();
      for (;;) try { await tunnel(Number(process.argv[1])); break; } catch {}
      console.error('one again');
      process.exit();
    })();`;
    const { proxy } = await openNetwork(['loopback']);
    const program = code(script, await listening(server));
    const { result, lines } = await start('', { isolation, proxy, program });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(lines.map(({ line }) => line)).toEqual([
      'A program may have 256 outgoing connections at once.',
      'one again',
    ]);
  });
});

const [strongest] = holders;

describe.each(strongest === undefined ? [] : [strongest])(
  'the proxy of a program, with %s',
  (_name, isolation) => {
    it.each([
      ['GET / HTTP/1.1\r\nHost: a\r\n\r\n', /^HTTP\/1\.1 400 .*absolute http:\/\/ URL/s],
      ['GET https://a.example/ HTTP/1.1\r\nHost: a\r\n\r\n', /^HTTP\/1\.1 400 .*it takes CONNECT/s],
      ['CONNECT a.example HTTP/1.1\r\nHost: a\r\n\r\n', /^HTTP\/1\.1 400 CONNECT wants a host and a port/],
      ['CONNECT user@a.example:443 HTTP/1.1\r\nHost: a\r\n\r\n', /^HTTP\/1\.1 400 CONNECT wants/],
      [`GET http://a.example/ HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
      ['\x16\x03\x01\r\n\r\n', /^HTTP\/1\.1 400 /],
    ])('answers %j', async (request, answer) => {
      const script = `
      let text = '';
      require('node:net').connect(proxyPort, hostname, function () { this.write(process.argv[1]); })
        .on('data', (chunk) => (text += chunk)).on('close', () => console.error(JSON.stringify(text)));`;
      const { proxy } = await openNetwork([]);
      const { result, lines } = await start('', { isolation, proxy, program: code(script, request) });
      expect(await result).toMatchObject({ outcome: 'succeeded' });
      expect(JSON.parse(lines[0]?.line ?? '')).toMatch(answer);
    });
  },
);
