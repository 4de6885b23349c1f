import { isEnded } from '@runledger/contracts/fold/run';
import { isSettled } from '@runledger/contracts/fold/webhook';
import type { Check, Violation } from '../evidence/evidence.ts';
import { lastOf, type LoggedRun } from '../evidence/logged-run.ts';
import type { ReceivedNotification } from '../clients/client-records.ts';

const guarantee =
  'The final notification is delivered at least once, in order, or its delivery fails visibly. No notification follows it.';

export const notifications: Check = ({ runs, records }) => {
  const violations: Violation[] = [];
  const received = Map.groupBy(records.received, ({ payload }) => payload.run_id);
  for (const [run, arrived] of received)
    if (!runs.has(run))
      violations.push({
        guarantee,
        run,
        message: `${arrived.length} notifications arrived for a run that the log does not have.`,
      });
  for (const [run, logged] of runs) {
    const arrived = received.get(run) ?? [];
    const problems = [unsettled(logged, arrived), ...contradictions(logged, arrived), outOfOrder(arrived)];
    for (const message of problems) if (message !== undefined) violations.push({ guarantee, run, message });
  }
  return violations;
};

const unsettled = (
  { webhook, ...logged }: LoggedRun,
  arrived: readonly ReceivedNotification[],
): string | undefined => {
  const run = lastOf({ webhook, ...logged });
  if (!run || !isEnded(run)) return undefined;
  if (run.request.webhook === null)
    return arrived.length > 0 ? 'It has no webhook, but a notification arrived.' : undefined;
  if (!webhook || !isSettled(webhook))
    return `Its delivery is not settled: ${webhook?.status ?? 'the log has no webhook fact'}.`;
  const finals = arrived.filter(({ payload }) => payload.finished);
  if (webhook.status === 'success' && !finals.some(({ answer: answered }) => answered === 200))
    return 'The log says that the final notification was delivered, but the receiver accepted none.';
  // Nobody can have it sent again.
  if (webhook.status === 'failed' && webhook.reason === 'expired' && logged.isDeleted) return undefined;
  // The check of expiry is about these.
  if (webhook.status === 'failed' && webhook.reason === 'log_expired') return undefined;
  if (webhook.status === 'failed' && !finals.some(({ answer: answered }) => answered === 410))
    return `The log says that the delivery failed (${webhook.reason} in round ${webhook.round}, after ${webhook.tries} attempts), but the receiver never answered 410.`;
  return undefined;
};

/** Each notification shows the run as it was at its position in the log. */
const contradictions = ({ situations }: LoggedRun, arrived: readonly ReceivedNotification[]): string[] =>
  arrived.flatMap(({ payload }) => {
    const then = situations.find(({ sequence }) => sequence === payload.sequence);
    if (then?.run.status === payload.status) return [];
    return [
      `A notification says ${payload.status} at ${payload.sequence}, but the log says ${then?.run.status ?? 'nothing'}.`,
    ];
  });

const outOfOrder = (arrived: readonly ReceivedNotification[]): string | undefined => {
  let last: ReceivedNotification | undefined;
  for (const next of arrived) {
    if (last && next.payload.sequence < last.payload.sequence)
      return `${next.payload.status} (${next.payload.sequence}) arrived after ${last.payload.status} (${last.payload.sequence}).`;
    last = next;
  }
  const ids = new Set(arrived.filter(({ payload }) => payload.finished).map(({ webhookId }) => webhookId));
  return ids.size > 1 ? `Its final notification has ${ids.size} ids: ${[...ids].join(', ')}.` : undefined;
};
