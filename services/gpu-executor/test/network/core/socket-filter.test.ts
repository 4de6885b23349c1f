import { describe, expect, it } from 'vitest';
import { canFilterSockets, socketFilter, type SocketRules } from '../../../src/network/core/socket-filter.ts';

interface Call {
  readonly audit: number;
  readonly number: number;
  readonly args?: readonly number[];
}

const LOADS: Readonly<Record<number, (call: Call) => number>> = {
  0: ({ number }) => number,
  4: ({ audit }) => audit,
  16: ({ args }) => args?.[0] ?? 0,
  24: ({ args }) => args?.[1] ?? 0,
  32: ({ args }) => args?.[2] ?? 0,
  40: ({ args }) => args?.[3] ?? 0,
};

/** Runs the program as the kernel does: 0 when it allows the call, else the number of the error. */
const answerOf = (program: Buffer, call: Call): number => {
  let value = 0;
  for (let at = 0; at < program.length; at += 8) {
    const code = program.readUInt16LE(at);
    const constant = program.readUInt32LE(at + 4);
    const jump = (holds: boolean): void => void (at += 8 * program.readUInt8(at + (holds ? 2 : 3)));
    if (code === 0x20) value = LOADS[constant]?.(call) ?? Number.NaN;
    else if (code === 0x54) value &= constant;
    else if (code === 0x15) jump(value === constant);
    else if (code === 0x45) jump((value & constant) !== 0);
    else if (code === 0x06) return constant === 0x7fff0000 ? 0 : constant - 0x50000;
    else throw new Error(`no instruction of this test: ${code}`);
  }
  throw new Error('the program has no end');
};

const X64 = { arch: 'x64', audit: 0xc000003e, socket: 41, sendto: 44, sendmsg: 46, sendmmsg: 307 };
const ARM64 = { arch: 'arm64', audit: 0xc00000b7, socket: 198, sendto: 206, sendmsg: 211, sendmmsg: 269 };
const I386 = 0x40000003;
const [ALLOWED, EACCES, ENOSYS, EOPNOTSUPP, EAFNOSUPPORT] = [0, 13, 38, 95, 97];
const [STREAM, DATAGRAM, RAW, CLOEXEC, FASTOPEN] = [1, 2, 3, 0x80000, 0x20000000];

describe.each([X64, ARM64])('the filter for sockets, on $arch,', (on) => {
  const answer = (
    rules: SocketRules,
    number: number,
    args: readonly number[] = [],
    audit = on.audit,
  ): number => answerOf(socketFilter(rules, on.arch) ?? Buffer.alloc(0), { audit, number, args });

  it.each([
    ['a socket file', [1, STREAM, 0], ALLOWED, ALLOWED],
    ['TCP', [2, STREAM, 0], ALLOWED, ALLOWED],
    ['TCP of IPv6, by its number', [10, STREAM | CLOEXEC, 6], ALLOWED, ALLOWED],
    ['netlink', [16, RAW, 0], ALLOWED, ALLOWED],
    ['UDP', [2, DATAGRAM | CLOEXEC, 0], ALLOWED, EACCES],
    ['UDP of IPv6', [10, DATAGRAM, 17], ALLOWED, EACCES],
    ['Multipath TCP', [2, STREAM, 262], ALLOWED, EACCES],
    ['SCTP', [10, STREAM, 132], ALLOWED, EACCES],
    ['raw packets', [2, RAW, 1], ALLOWED, EACCES],
    ['vsock', [40, STREAM, 0], EAFNOSUPPORT, EAFNOSUPPORT],
    ['SMC', [43, STREAM, 0], EAFNOSUPPORT, EAFNOSUPPORT],
    ['packets of a card', [17, RAW, 0], EAFNOSUPPORT, EAFNOSUPPORT],
  ])('answers for %s', (_title, args, ownNetwork, tcp) => {
    expect([answer('own_network', on.socket, args), answer('tcp', on.socket, args)]).toEqual([
      ownNetwork,
      tcp,
    ]);
  });

  it.each([
    ['sendto', on.sendto, [0, 0, 0, FASTOPEN]],
    ['sendmsg', on.sendmsg, [0, 0, FASTOPEN | 0x4000]],
    ['sendmmsg', on.sendmmsg, [0, 0, 1, FASTOPEN]],
  ])('lets %s connect nothing where Landlock would not be asked', (_title, number, args) => {
    expect(answer('tcp', number, args)).toBe(EOPNOTSUPP);
    expect(answer('own_network', number, args)).toBe(ALLOWED);
    expect(answer('tcp', number, [0, 0, 0, 0x4000])).toBe(ALLOWED);
  });

  it('has no way around it by other numbers, and none by io_uring', () => {
    for (const rules of ['own_network', 'tcp'] as const) {
      expect(answer(rules, on.socket, [1, STREAM, 0], I386)).toBe(ENOSYS);
      expect(answer(rules, on.socket | 0x40000000, [1, STREAM, 0])).toBe(ENOSYS);
      expect(answer(rules, 425)).toBe(ENOSYS);
      expect(answer(rules, 0)).toBe(ALLOWED);
    }
  });
});

describe('another architecture', () => {
  it('has no filter', () => {
    expect([canFilterSockets('riscv64'), socketFilter('tcp', 'riscv64')]).toEqual([false, null]);
  });
});
