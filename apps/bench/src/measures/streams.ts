import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { atOnce } from '@runledger/testing/at-once';
import type { MeasuredStandalone } from '../system/measured-standalone.ts';
import type { Readings } from './figures.ts';

const OPEN_AT_ONCE = 32;
const KIB_PER_MIB = 1_024;

/** Opens a stream of the events of each run, which has sent its first fact, and holds them all at once. */
export const holdStreams = async (system: MeasuredStandalone, ids: readonly string[]): Promise<Readings> => {
  const before = system.memory().get('gateway') ?? 0;
  using agent = agentOf();
  const held = await atOnce(OPEN_AT_ONCE, ids, (id) => openStream(system, id, agent.agent));
  const open = held.filter((stream) => !stream.destroyed).length;
  const grown = (system.memory().get('gateway') ?? 0) - before;
  return { streams: open, 'streams.memory': (grown * KIB_PER_MIB) / open };
};

const agentOf = (): Disposable & { readonly agent: Agent } => {
  const agent = new Agent({ maxSockets: Infinity });
  return { agent, [Symbol.dispose]: () => agent.destroy() };
};

const openStream = async (
  { url, key }: MeasuredStandalone,
  id: string,
  agent: Agent,
): Promise<IncomingMessage> => {
  const headers = { authorization: `Bearer ${key}` };
  const [stream] = (await once(get(`${url}/run/${id}/events`, { agent, headers }), 'response')) as [
    IncomingMessage,
  ];
  if (stream.statusCode !== 200) throw new Error(`a stream was answered with ${stream.statusCode}`);
  stream.on('error', () => undefined);
  await once(stream, 'data');
  return stream;
};
