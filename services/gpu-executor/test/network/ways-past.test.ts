import { createServer } from 'node:net';
import { findPython } from '@runledger/local-servers/python';
import { describe, expect, it } from 'vitest';
import { start } from '../runners/program/run-a-program.ts';
import { holders, listening, openNetwork } from './network-bed.ts';

/** Tries what connects or listens without the calls that everybody knows. What it cannot even try on this machine is refused, too. */
const WAYS = `
import socket, sys
port = int(sys.argv[1])
def connects(made, target=("127.0.0.1", port)):
    made.connect(target)
    return made.recv(10)
def fast_open():
    made = socket.socket()
    made.sendto(b"x", 0x20000000, ("127.0.0.1", port))
    return made.recv(10)
def fast_open_option():
    made = socket.socket()
    made.setsockopt(socket.IPPROTO_TCP, 30, 1)
    made.connect(("127.0.0.1", port))
    made.send(b"x")
    return made.recv(10)
ways = {
    "tcp": lambda: connects(socket.socket()),
    "mapped": lambda: connects(socket.socket(socket.AF_INET6), ("::ffff:127.0.0.1", port)),
    "mptcp": lambda: connects(socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)),
    "smc": lambda: connects(socket.socket(43, socket.SOCK_STREAM)),
    "fast open": fast_open,
    "fast open by option": fast_open_option,
    "vsock": lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).bind((0xFFFFFFFF, 0xFFFFFFFF)),
}
for name, way in ways.items():
    try:
        way()
        print(name, file=sys.stderr)
    except OSError:
        pass
`;

/** Where programs of every user find it. */
const PYTHONS = '/usr/local/bin:/usr/bin:/bin';
const python = await findPython({ ...process.env, PATH: PYTHONS }, { oldest: [3, 9], newest: [3, 14] });
if (python === undefined)
  process.stderr.write('no tests of ways past the network of a program: there is no Python\n');

describe.each(python === undefined ? [] : holders)(
  'ways past the network of a program, with %s,',
  (_name, isolation) => {
    it.for(['none', 'outgoing'] as const)('are closed in the network %s', async (network) => {
      const { proxy } = await openNetwork([]);
      const port = await listening(createServer((socket) => socket.end('served')));
      const args = ['-c', WAYS, String(port)];
      const program = { command: python?.path ?? '', args, network };
      const { result, lines } = await start('', { isolation, proxy, program });
      expect(await result).toMatchObject({ outcome: 'succeeded' });
      expect(lines).toEqual([]);
    });

    it('are open in the network host, so that this test sees them', async () => {
      const port = await listening(createServer((socket) => socket.end('served')));
      const args = ['-c', WAYS, String(port)];
      const program = { command: python?.path ?? '', args, network: 'host' } as const;
      const { result, lines } = await start('', { isolation, program });
      expect(await result).toMatchObject({ outcome: 'succeeded' });
      expect(lines.map(({ line }) => line)).toEqual(
        expect.arrayContaining(['tcp', 'mapped', 'fast open by option']),
      );
    });
  },
);
