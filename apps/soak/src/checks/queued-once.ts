import { unplannedIn, type Check, type Violation } from '../evidence/evidence.ts';
import type { LoggedRun } from '../evidence/logged-run.ts';

const guarantee = 'Of all requests with the same idempotency key, exactly one queues a run.';

/** A client without a key sends its request once, so that request queues at most one run too. */
export const queuedOnce: Check = (evidence) => {
  const { plans, records, runs } = evidence;
  const unplanned = unplannedIn(evidence);
  const violations: Violation[] = [];
  // The check of deletions is about these.
  const again = new Set(
    records.exchanges.flatMap(({ kind, answer }) =>
      kind === 'queue_deleted' && answer.kind === 'queued' ? [answer.run] : [],
    ),
  );
  const requested = [...runs].flatMap(([run, logged]) =>
    unplanned.has(logged.key.org_id) || again.has(run) ? [] : [logged],
  );
  const known = new Set(plans.map(({ request }) => request));
  for (const [request, alike] of Map.groupBy(requested, requestOf)) {
    const [first, second] = alike;
    if (first === undefined) continue;
    if (!known.has(Number.parseInt(request, 10))) {
      violations.push({
        guarantee,
        run: first.key.run_id,
        message: `No client requested it. Its inputs name request ${request}.`,
      });
    } else if (second !== undefined) {
      const ids = alike.map(({ key }) => key.run_id).join(' and ');
      violations.push({ guarantee, run: second.key.run_id, message: `Request ${request} queued ${ids}.` });
    }
  }
  const keyed = records.exchanges.filter(
    ({ kind, key, answer }) =>
      kind !== 'queue_other' && kind !== 'queue_deleted' && key !== null && answer.kind === 'queued',
  );
  for (const [key, exchanges] of Map.groupBy(keyed, ({ key }) => key)) {
    const runsAnswered = new Set(exchanges.map(({ answer }) => (answer.kind === 'queued' ? answer.run : '')));
    const [run = null] = runsAnswered;
    if (runsAnswered.size > 1)
      violations.push({
        guarantee,
        run,
        message: `Key ${key} was answered with ${[...runsAnswered].join(' and ')}.`,
      });
  }
  for (const { kind, key, gateway, answer } of records.exchanges) {
    if (kind !== 'queue_other' || answer.kind !== 'queued') continue;
    const message = `${gateway} accepted another request with the key ${key}.`;
    violations.push({ guarantee, run: answer.run, message });
  }
  return violations;
};

/** The number in the inputs, and whether it is the rerun of that request. The webhook has it too, for inputs that are a blob. */
const requestOf = ({ situations }: LoggedRun): string => {
  const { inputs, webhook } = situations[0]?.run.request ?? {};
  const { request, again } = inputs ?? { request: Number(webhook?.split('/').at(-1)) };
  return `${JSON.stringify(request)}${again === true ? ' again' : ''}`;
};
