import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { start } from '../runners/program/run-a-program.ts';
import { holders, httpServer, openNetwork } from './network-bed.ts';

/** Asks the proxy for each URL, as a request and as a tunnel, and says what it answers to both. */
const ASKS = `
const http = require('node:http');
const proxy = new URL(process.env.HTTP_PROXY);
const ask = (method, path) =>
  new Promise((resolve, reject) => {
    const answered = (response) => {
      response.resume();
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk)).on('end', () => resolve(response.statusCode + ' ' + text.trim()));
    };
    http.request({ host: proxy.hostname, port: proxy.port, method, path, agent: false })
      .on('response', answered)
      .on('connect', (response, socket) => {
        socket.destroy();
        resolve(response.statusCode + ' ' + (response.statusCode === 200 ? '' : response.statusMessage));
      })
      .on('error', reject).end();
  });
(async () => {
  for (const url of process.argv.slice(1)) {
    const { hostname, port } = new URL(url);
    console.error(await ask('GET', url));
    console.error(await ask('CONNECT', hostname + ':' + (port || 80)));
  }
})();
`;

const serve: RequestListener = (_request, response) => void response.end('served');

interface Answers {
  readonly requests: readonly string[];
  readonly tunnels: readonly string[];
  readonly connections: number;
}

/** With these addresses of names. */
const answersTo = async (
  isolation: (typeof holders)[number][1],
  urls: readonly string[],
  { names = {}, allow = [] as readonly string[], own = [] as readonly string[] } = {},
): Promise<Answers> => {
  const { dns, proxy, connections } = await openNetwork(allow, own);
  for (const [name, addresses] of Object.entries<readonly string[]>(names)) dns.set(name, addresses);
  const program = { command: process.execPath, args: ['-e', ASKS, ...urls] };
  const { result, lines } = await start('', { isolation, proxy, program });
  expect(await result).toMatchObject({ outcome: 'succeeded' });
  const said = lines.map(({ line }) => line);
  return {
    requests: said.filter((_line, index) => index % 2 === 0),
    tunnels: said.filter((_line, index) => index % 2 === 1),
    connections: connections.length,
  };
};

const [strongest] = holders;

describe.each(holders)('with %s, what a program asks for', (_name, isolation) => {
  it('is refused for addresses that are not public, with the setting that allows them', async () => {
    const port = await httpServer(serve);
    const urls = [`http://127.0.0.1:${port}/`, 'http://169.254.169.254/latest/meta-data/'];
    const { requests, tunnels, connections } = await answersTo(isolation, urls);
    const refused = [
      '403 A program may not connect to this address: the address 127.0.0.1 is not public (loopback, 127.0.0.0/8); the operator can allow it with 127.0.0.1 in EXECUTOR_NETWORK_ALLOW',
      expect.stringMatching(/^403 .*the address 169\.254\.169\.254 is not public .*EXECUTOR_NETWORK_ALLOW$/),
    ];
    expect({ requests, tunnels, connections }).toEqual({
      requests: refused,
      tunnels: refused,
      connections: 0,
    });
  });

  it('is served at an address that is allowed', async () => {
    const port = await httpServer(serve);
    const { requests, tunnels } = await answersTo(isolation, [`http://localhost:${port}/`], {
      allow: ['loopback'],
    });
    expect({ requests, tunnels }).toEqual({ requests: ['200 served'], tunnels: ['200 '] });
  });
});

describe.each(strongest === undefined ? [] : [strongest])('with %s, a program', (_name, isolation) => {
  it('is refused every form of an address that is not public, and every name with one', async () => {
    const hosts = [
      'localhost',
      '2130706433',
      '0x7f.1',
      '0.0.0.0',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[::ffff:169.254.169.254]',
      '[64:ff9b::a9fe:a9fe]',
      '[fe80::1]',
      '[fd00:ec2::254]',
      '10.0.0.1',
      '100.100.100.200',
      'metadata.google.internal',
      'private.example',
      'half.example',
      'six.example',
    ];
    const names = {
      'private.example': ['192.168.1.1'],
      'half.example': ['8.8.8.8', '127.0.0.1'],
      'six.example': ['fd00::1'],
    };
    const urls = hosts.map((host) => `http://${host}/`);
    const { requests, tunnels, connections } = await answersTo(isolation, urls, { names });
    const refused = hosts.map(() =>
      expect.stringMatching(/^403 A program may not connect to this address: .*EXECUTOR_NETWORK_ALLOW$/),
    );
    expect({ requests, tunnels, connections }).toEqual({
      requests: refused,
      tunnels: refused,
      connections: 0,
    });
  });

  it('is refused a port that the policy does not have, and a service of Runledger where loopback is allowed', async () => {
    const port = await httpServer(serve);
    const urls = ['http://8.8.8.8:22/', `http://127.0.0.1:${port}/`];
    const { requests } = await answersTo(isolation, urls, {
      allow: ['loopback'],
      own: [`127.0.0.1:${port}`],
    });
    expect(requests).toEqual([
      expect.stringMatching(
        /^403 .*port 22 is not one of 80, 443; .* with 8\.8\.8\.8 in EXECUTOR_NETWORK_ALLOW$/,
      ),
      expect.stringMatching(/^403 .*a service of Runledger itself, which is never reached this way$/),
    ]);
  });

  it('is told that a name does not exist, and that nobody listens', async () => {
    const { requests, tunnels } = await answersTo(
      isolation,
      ['http://nowhere.example/', 'http://127.0.0.1:1/'],
      { allow: ['loopback'] },
    );
    const failed = [
      expect.stringMatching(/^502 .*nowhere\.example/),
      expect.stringMatching(/^502 127\.0\.0\.1:1 refused the connection/),
    ];
    expect({ requests, tunnels }).toEqual({ requests: failed, tunnels: failed });
  });

  it('is connected to the address that was checked, and not to what the name becomes meanwhile', async () => {
    const { dns, proxy } = await openNetwork(['turning.example']);
    dns.set('turning.example', ['127.0.0.1']);
    const port = await httpServer((request, response) => {
      // A second look-up would not find the server any more.
      dns.set('turning.example', ['127.0.0.2']);
      serve(request, response);
    });
    const program = { command: process.execPath, args: ['-e', ASKS, `http://turning.example:${port}/`] };
    const { result, lines } = await start('', { isolation, proxy, program });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(lines[0]?.line).toBe('200 served');
    // One for each family; the tunnel found the result in the cache.
    expect(dns.questions('turning.example')).toBe(2);
  });
});
