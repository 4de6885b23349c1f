import { isDeleted, type Run } from '@runledger/contracts/fold/run';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import type { DeliveryAttempt } from '@runledger/contracts/deliveries/delivery-attempts';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { streamState } from '@runledger/event-log/messages/leader-state';
import { describeAccepted } from '@runledger/event-log/provision/lost-facts';
import { readDeliveries } from '@runledger/event-log/streams/delivery-attempts';
import { Refused } from '../door/refusal.ts';
import type { Kit } from '../kit.ts';
import type { CurrentRun } from './facts/current-run.ts';
import { notFoundRun } from './run-path.ts';
import type { Runs } from './runs.ts';
import { runSteps, type RunMoment, type RunStep } from './waterfall.decide.ts';

/** What the history of a run is made from. */
interface HistorySource {
  /** What the log and the archive have of it. */
  readonly steps: readonly RunStep[];
  /** Facts that the log has lost to damage, in words, when the first ones of the run are not there; undefined for none. */
  readonly lost: string | undefined;
  /** The run as it is; undefined when it cannot be read, such as after a fact that a later release wrote. */
  readonly run: Run | undefined;
  readonly webhook: Webhook | undefined;
  readonly deliveries: readonly DeliveryAttempt[];
}

/** It is there also when the facts of the run are damaged, or have left the log in part. @throws {Refused} @throws {LogUnavailable} */
export const historySource = async (
  { log }: Kit,
  { archive: { read }, current }: Runs,
  key: RunKey,
): Promise<HistorySource> => {
  const messages = await read(key);
  if (!messages) throw new Refused({ code: 'run_unreadable', why: FORGED });
  const steps = runSteps(messages);
  const last = steps.at(-1)?.after;
  const { run, webhook } = last?.run ? last : viewed(await current(key), last);
  if (run && isDeleted(run)) throw notFoundRun({ kind: 'deleted' });
  const sent = run?.request.webhook ? await readDeliveries(log, key) : undefined;
  const deliveries = sent ? [...sent.attempts, ...(sent.intermediate ? [sent.intermediate] : [])] : [];
  const [first] = steps;
  const isWhole = first !== undefined && first.step.kind !== 'gap';
  const lost = isWhole
    ? undefined
    : ((await describeAccepted(log)) ?? (first || !run ? undefined : await whyHidden(log, run)));
  return { steps, lost, run, webhook, deliveries };
};

/**
 * A broker whose file is damaged, and whose index is not, gives no fact of a run whose last one it cannot read. Undefined where they may
 * have left the log with their age.
 */
const whyHidden = async (log: EventLog, { updated_at }: Run): Promise<string | undefined> => {
  const { messages, first_ts } = (await streamState(log, 'RUNS')).state;
  return messages > 0 && Date.parse(first_ts) <= Date.parse(updated_at) ? HIDDEN : undefined;
};

const HIDDEN =
  'the log reaches back further, and its broker does not find them: a file of its store is damaged, and "runledger verify" says what else is';

const FORGED = 'The log has more messages of this run than a run can have, so most of them are forged';

/** A run of which the log does not have all. */
const viewed = (found: CurrentRun, last: RunMoment | undefined): RunMoment => {
  if (found.kind === 'found') return { run: found.run, webhook: found.webhook.state };
  if (found.kind === 'deleted' || !last) throw notFoundRun(found);
  return last;
};
