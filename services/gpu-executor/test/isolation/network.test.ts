import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isolationNamed } from '../fixtures/isolations.ts';
import { start } from '../runners/program/run-a-program.ts';

describe('the network of the machine, with what listens on loopback', () => {
  it.for([
    ['bubblewrap', 'host', 'connected'],
    ['landlock', 'host', 'connected'],
    ['bubblewrap', 'outgoing', 'refused'],
    ['landlock', 'outgoing', 'refused'],
    ['bubblewrap', 'none', 'refused'],
    ['landlock', 'none', 'refused'],
    // Nothing can take it away.
    ['group', 'none', 'connected'],
  ] as const)('with %s and "network": %s is %s', async ([name, network, said], { skip }) => {
    const isolation = await isolationNamed(name);
    if (typeof isolation === 'string') return skip(isolation);
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const script = `require('net').connect(${port}, '127.0.0.1').on('connect', () => console.error('connected')).on('error', () => console.error('refused'))`;
    const program = { command: process.execPath, args: ['-e', script], network };
    const { result, lines } = await start('', { isolation, program });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(lines.map(({ line }) => line)).toEqual([said]);
  });
});
