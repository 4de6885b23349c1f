import type { RunEvent } from '@runledger/contracts/events/run-event';
import type { WebhookEvent } from '@runledger/contracts/events/webhook-event';
import {
  EMPTY_HISTORY,
  type Chain,
  type Gap,
  type NewerEvent,
  type StoredMessage,
} from '@runledger/contracts/fold/chain';
import { readChain, type ReadChain, type WholeChain } from '@runledger/contracts/fold/read-chain';
import type { RunState } from '@runledger/contracts/fold/run';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import { WEBHOOK_CHAIN } from '@runledger/contracts/fold/webhook-chain';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { RunMessages } from '../messages/run-messages.ts';
import { earliest, readAllUnder } from './read-all-under.ts';

/** Some facts of a run are missing, or more messages are stored under its subjects than a run can have. */
export interface DamagedRun extends Omit<Gap, 'kind'> {
  readonly kind: 'damaged';
  readonly why: string;
}

/** A run has 5 to 7 messages, with 100 attempts some hundreds. More messages are forged. */
export const MAX_OF_RUN = 2_000;
/** A round has at most four facts. More messages are forged. */
export const MAX_OF_WEBHOOK = 500;

const NOTHING = { kind: 'whole', history: EMPTY_HISTORY, facts: [], refused: [] } as const;

/** Every message of the run's lifecycle, including hidden ones, from the first known sequence of the run. */
export const readWholeRun = async (
  messages: RunMessages,
  key: RunKey,
  known: readonly StoredMessage[],
): Promise<WholeChain<RunEvent, RunState> | NewerEvent | DamagedRun> => {
  const filter = RUN_CHAIN.filterOf(key);
  const head = (await messages.last(filter))?.sequence ?? 0;
  if (head === 0) return NOTHING;
  const queued = await queuedOf(messages, key);
  const from = earliest([...known, ...(queued ? [queued] : [])], filter, head);
  const read = await readFrom(messages, RUN_CHAIN, key, { from, most: MAX_OF_RUN });
  if (read === undefined) {
    const why = `run ${key.run_id} has more than ${MAX_OF_RUN} messages, so most of them are forged`;
    return { kind: 'damaged', why, after: 0, expected: 0, sequence: head };
  }
  return read.kind === 'gap' ? { ...read, kind: 'damaged', why: damage(key, read) } : read;
};

/** The first fact of a run, which alone has its subject. */
export const queuedOf = (messages: RunMessages, key: RunKey): Promise<StoredMessage | undefined> =>
  messages.next(`${RUN_CHAIN.filterOf(key).slice(0, -1)}queued.gateway.0.none`, 1);

/** Every webhook fact of a run, including hidden ones. No genuine one is older than the run. A gap for too many messages. */
export const readWholeWebhook = async (
  messages: RunMessages,
  key: RunKey,
  { history }: WholeChain<RunEvent, RunState>,
  known: readonly StoredMessage[],
): Promise<ReadChain<WebhookEvent, Webhook>> => {
  if (history.state === undefined) return NOTHING;
  const from = earliest(known, WEBHOOK_CHAIN.filterOf(key), history.state.number);
  const read = await readFrom(messages, WEBHOOK_CHAIN, key, { from, most: MAX_OF_WEBHOOK });
  return read ?? { kind: 'gap', after: 0, expected: 0, sequence: from };
};

/** Undefined for more than `most` messages. */
const readFrom = async <Type extends string, Event, State>(
  messages: RunMessages,
  chain: Chain<Type, Event, State>,
  key: RunKey,
  span: { readonly from: number; readonly most: number },
): Promise<ReadChain<Event, State> | undefined> => {
  const found = await readAllUnder(messages, chain.filterOf(key), span);
  return found && readChain(chain, found);
};

const damage = (run: RunKey, { sequence, expected, after }: Gap): string =>
  `the history of run ${run.run_id} is damaged: the event at sequence ${sequence} is fenced on ${expected}, ` +
  (after === 0 ? 'and the log has no event before it' : `but the event before it is ${after}`);
