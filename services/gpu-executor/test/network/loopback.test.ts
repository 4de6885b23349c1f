import { createServer, connect } from 'node:net';
import { once } from 'node:events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { start } from '../runners/program/run-a-program.ts';
import { holders, listening } from './network-bed.ts';

const bubblewrap = holders.filter(([name]) => name === 'bubblewrap');
const landlock = holders.filter(([name]) => name === 'landlock');

const code = (script: string, ...args: string[]) => ({
  command: process.execPath,
  args: ['-e', script, ...args],
});

/** Its parent listens on all addresses, and a second process of it connects over loopback: each sends a megabyte and reads that of the other. */
const EXCHANGE = `
const { spawn } = require('node:child_process');
const net = require('node:net');
const BYTES = 1024 * 1024;
const swap = (socket, name, done) => {
  let read = 0;
  socket.on('data', (chunk) => {
    read += chunk.length;
    if (read === BYTES) { console.error(name + ' has read all'); done(); }
  });
  socket.write(Buffer.alloc(BYTES));
};
if (process.env.RANK === '1') {
  const socket = net.connect(Number(process.env.MASTER_PORT), process.env.MASTER_ADDR, () => swap(socket, 'rank 1', () => socket.end()));
} else {
  const server = net.createServer((socket) => swap(socket, 'rank 0', () => server.close())).listen(0, '0.0.0.0', () => {
    const env = { ...process.env, RANK: '1', MASTER_ADDR: process.argv[1], MASTER_PORT: String(server.address().port) };
    spawn(process.execPath, process.execArgv, { env, stdio: 'inherit' });
  });
}
`;

describe.each(bubblewrap)('the loopback of a program, with %s', (_name, isolation) => {
  it.each(['127.0.0.1', '127.0.1.1', '::1', 'localhost'])(
    'lets its processes talk to each other over %s, in both networks',
    async (address) => {
      const script = address === '::1' ? EXCHANGE.replace('0.0.0.0', '::') : EXCHANGE;
      for (const network of ['none', 'outgoing'] as const) {
        const program = { ...code(script, address), network };
        const { result, lines } = await start('', { isolation, program });
        expect(await result).toMatchObject({ outcome: 'succeeded' });
        expect(lines.map(({ line }) => line).toSorted()).toEqual([
          'rank 0 has read all',
          'rank 1 has read all',
        ]);
      }
    },
  );

  it('is not that of the machine: the same port is free there, and nobody reaches the program', async () => {
    const port = await listening(createServer());
    const listens = `require('node:net').createServer().listen(${port}, '0.0.0.0', () => console.error('listens'))`;
    const program = code(listens);
    const { cancel, result, lines } = await start('', { isolation, program, graceMs: 0 });
    await waitFor('the program to listen', () => lines.length > 0);
    expect(lines.map(({ line }) => line)).toEqual(['listens']);
    cancel();
    await result;
  });

  it('has nothing to connect to outside, and no name is resolved there', async () => {
    const script = `
      const net = require('node:net');
      const tried = (what) => (error) => console.error(what + ': ' + error.code);
      net.connect(80, '192.0.2.1').on('error', tried('address'));
      require('node:dns').lookup('example.com', tried('name'));
      const udp = require('node:dgram').createSocket('udp4');
      udp.send('x', 53, '192.0.2.1', (error) => {
        tried('udp')(error);
        udp.close();
      });
      net.connect('\\0abstract-of-the-machine').on('error', tried('abstract'));
      console.error(Object.keys(require('node:os').networkInterfaces()).join() + ' ' + process.env.HTTP_PROXY);
    `;
    const abstract = createServer();
    abstract.listen('\0abstract-of-the-machine');
    await once(abstract, 'listening');
    const { result, lines } = await start('', { isolation, program: { ...code(script), network: 'none' } });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    abstract.close();
    expect(lines.map(({ line }) => line).toSorted()).toEqual([
      'abstract: ECONNREFUSED',
      'address: ENETUNREACH',
      'lo undefined',
      expect.stringMatching(/^name: E/),
      'udp: ENETUNREACH',
    ]);
  });
});

describe.each(landlock)('with %s, a program', (_name, isolation) => {
  it.each(['none', 'outgoing'] as const)('listens on no port in the network %s', async (network) => {
    const listens = `require('node:net').createServer().on('error', (error) => console.error(error.code)).listen(0, '127.0.0.1', () => console.error('listens'))`;
    const { result, lines } = await start('', { isolation, program: { ...code(listens), network } });
    expect(await result).toMatchObject({ outcome: 'succeeded' });
    expect(lines.map(({ line }) => line)).toEqual(['EACCES']);
  });
});

describe.each(holders)('with %s and the network host, a program', (_name, isolation) => {
  it('listens on a port of the machine, and has no proxy', async () => {
    const listens = `const server = require('node:net').createServer((socket) => socket.end('of the program')).listen(0, '127.0.0.1', () => console.error(server.address().port + ' ' + process.env.HTTP_PROXY))`;
    const program = { ...code(listens), network: 'host' } as const;
    const { cancel, result, lines } = await start('', { isolation, program, graceMs: 0 });
    await waitFor('the program to listen', () => lines.length > 0);
    const [port, proxy] = lines[0]?.line.split(' ') ?? [];
    expect(proxy).toBe('undefined');
    const [said] = await once(connect(Number(port), '127.0.0.1'), 'data');
    expect(String(said)).toBe('of the program');
    cancel();
    await result;
  });
});
