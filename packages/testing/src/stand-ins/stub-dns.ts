import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import { decode, encode, type DecodedPacket, type Packet, type Question } from 'dns-packet';

/** Addresses of both families (an empty list: the name exists without an address), or a failure of the server. */
export type StubDnsAnswer = readonly string[] | 'silent' | 'servfail' | 'refused';

/** One answer for both families, or one for each. */
export type StubDnsName = StubDnsAnswer | { readonly A: StubDnsAnswer; readonly AAAA: StubDnsAnswer };

export interface StubDns extends AsyncDisposable {
  /** `127.0.0.1:port`, as in the setting for DNS servers. */
  readonly server: string;
  /** Takes effect with the next query. A name that was never set does not exist. */
  set(name: string, answer: StubDnsName): void;
  /** The number of queries for the name. A resolver sends one for each family. */
  questions(name: string): number;
}

const NXDOMAIN = 3;
const SERVFAIL = 2;
const REFUSED = 5;
/** Longer than any test: a client that asks again follows a rule of its own. */
const TTL_S = 3_600;

/** A DNS server on a UDP socket of this machine. It answers as the test sets it, immediately or never. */
export const stubDns = async (
  names: Readonly<Record<string, StubDnsName>> = {},
  { port = 0 }: { readonly port?: number } = {},
): Promise<StubDns> => {
  const answers = new Map(Object.entries(names));
  const counts = new Map<string, number>();
  const socket = createSocket('udp4');

  socket.on('message', (bytes, from) => {
    const query = decode(bytes);
    const [question] = query.questions ?? [];
    if (question === undefined) return;
    const name = question.name.toLowerCase();
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const reply = replyTo(query, question, answers.get(name));
    // The callback swallows the error of a closed socket.
    if (reply !== undefined) socket.send(encode(reply), from.port, from.address, () => undefined);
  });
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');

  return {
    server: `127.0.0.1:${socket.address().port}`,
    set: (name, answer) => answers.set(name, answer),
    questions: (name) => counts.get(name) ?? 0,
    [Symbol.asyncDispose]: async () => {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
};

const replyTo = (
  query: DecodedPacket,
  question: Question,
  set: StubDnsName | undefined,
): Packet | undefined => {
  const answer = typeof set === 'object' && 'A' in set ? set[question.type === 'A' ? 'A' : 'AAAA'] : set;
  const reply: Packet = { type: 'response', id: query.id ?? 0, questions: [question] };
  switch (answer) {
    case undefined:
      return { ...reply, flags: NXDOMAIN };
    case 'silent':
      return undefined;
    case 'servfail':
      return { ...reply, flags: SERVFAIL };
    case 'refused':
      return { ...reply, flags: REFUSED };
  }
  return {
    ...reply,
    answers: answer
      .filter((address) => isIPv4(address) === (question.type === 'A'))
      .map((data) => ({
        type: isIPv4(data) ? 'A' : 'AAAA',
        name: question.name,
        ttl: TTL_S,
        data,
      })),
  };
};
