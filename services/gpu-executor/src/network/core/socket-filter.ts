/** What a filter lets a program have of sockets. `own_network`: families that a network namespace separates. `tcp`: of the internet, nothing that is not TCP. */
export type SocketRules = 'own_network' | 'tcp';

/** Numbers of system calls, and of the architecture (linux/audit.h). */
interface Architecture {
  readonly audit: number;
  readonly socket: number;
  readonly sendto: number;
  readonly sendmsg: number;
  readonly sendmmsg: number;
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: { audit: 0xc000003e, socket: 41, sendto: 44, sendmsg: 46, sendmmsg: 307 },
  arm64: { audit: 0xc00000b7, socket: 198, sendto: 206, sendmsg: 211, sendmmsg: 269 },
};
const IO_URING_SETUP = 425;
/** Calls of x64 with pointers of 32 bits have this bit, and no other calls have it. */
const X32 = 0x40000000;

const [UNIX, INET, INET6, NETLINK] = [1, 2, 10, 16];
const [STREAM, TYPE_BITS, TCP] = [1, 0xf, 6];
/** A message that connects a socket by itself, without asking Landlock. */
const MSG_FASTOPEN = 0x20000000;

const ALLOW = 0x7fff0000;
const error = (number: number): number => 0x00050000 + number;
const [EACCES, ENOSYS, EOPNOTSUPP, EAFNOSUPPORT] = [13, 38, 95, 97];

/** One of the classic BPF: what it does, where it goes on (when it compares), and a constant. */
type Instruction = readonly [code: number, jumpIf: number, jumpElse: number, constant: number];
const load = (offset: number): Instruction => [0x20, 0, 0, offset];
const and = (bits: number): Instruction => [0x54, 0, 0, bits];
const equals = (value: number, jumpIf: number, jumpElse: number): Instruction => [
  0x15,
  jumpIf,
  jumpElse,
  value,
];
const hasBits = (bits: number, jumpIf: number, jumpElse: number): Instruction => [
  0x45,
  jumpIf,
  jumpElse,
  bits,
];
const end = (action: number): Instruction => [0x06, 0, 0, action];

/** Of what a filter looks at: the call, the architecture, and the lower half of each argument. */
const [CALL, AUDIT] = [0, 4];
const argument = (index: number): number => 16 + 8 * index;

export const canFilterSockets = (arch: string): boolean => arch in ARCHITECTURES;

/** A filter for seccomp: 8 bytes for each instruction. Null for an architecture whose calls are not known here. */
export const socketFilter = (rules: SocketRules, arch: string): Buffer | null => {
  const known = ARCHITECTURES[arch];
  if (known === undefined) return null;
  const { audit, socket, sendto, sendmsg, sendmmsg } = known;
  return encode([
    // Those of another architecture have other numbers, and would be a way past this.
    load(AUDIT),
    equals(audit, 1, 0),
    end(error(ENOSYS)),
    load(CALL),
    hasBits(X32, 0, 1),
    end(error(ENOSYS)),
    // It makes and connects sockets, and no filter sees that.
    ...whenCalled(IO_URING_SETUP, [end(error(ENOSYS))]),
    ...whenCalled(socket, rules === 'tcp' ? TCP_ONLY : OWN_NETWORK),
    ...(rules === 'tcp' ? [sendto, sendmmsg].flatMap((call) => whenCalled(call, withoutFastOpen(3))) : []),
    ...(rules === 'tcp' ? whenCalled(sendmsg, withoutFastOpen(2)) : []),
    end(ALLOW),
  ]);
};

/** The body ends in each of its ways. */
const whenCalled = (call: number, body: readonly Instruction[]): readonly Instruction[] => [
  load(CALL),
  equals(call, 0, body.length),
  ...body,
];

const OWN_NETWORK: readonly Instruction[] = [
  load(argument(0)),
  equals(UNIX, 4, 0),
  equals(NETLINK, 3, 0),
  equals(INET, 2, 0),
  equals(INET6, 1, 0),
  end(error(EAFNOSUPPORT)),
  end(ALLOW),
];

const TCP_ONLY: readonly Instruction[] = [
  load(argument(0)),
  equals(UNIX, 11, 0),
  equals(NETLINK, 10, 0),
  equals(INET, 2, 0),
  equals(INET6, 1, 0),
  end(error(EAFNOSUPPORT)),
  load(argument(1)),
  and(TYPE_BITS),
  equals(STREAM, 0, 3),
  load(argument(2)),
  equals(0, 2, 0),
  equals(TCP, 1, 0),
  end(error(EACCES)),
  end(ALLOW),
];

const withoutFastOpen = (flags: number): readonly Instruction[] => [
  load(argument(flags)),
  hasBits(MSG_FASTOPEN, 0, 1),
  end(error(EOPNOTSUPP)),
  end(ALLOW),
];

const encode = (instructions: readonly Instruction[]): Buffer => {
  const bytes = Buffer.alloc(8 * instructions.length);
  instructions.forEach(([code, jumpIf, jumpElse, constant], index) => {
    bytes.writeUInt16LE(code, 8 * index);
    bytes.writeUInt8(jumpIf, 8 * index + 2);
    bytes.writeUInt8(jumpElse, 8 * index + 3);
    bytes.writeUInt32LE(constant, 8 * index + 4);
  });
  return bytes;
};
