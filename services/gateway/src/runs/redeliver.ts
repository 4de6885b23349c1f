import { allRead } from '@runledger/contracts/all-read';
import { RunRedelivery, RedeliverRequest, RedeliverResponse } from '@runledger/contracts/http/webhooks';
import { MAX_ROUNDS } from '@runledger/contracts/events/webhook-event';
import { newUuid } from '@runledger/contracts/ids';
import type { Webhook } from '@runledger/contracts/fold/webhook';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { decideAndAppend, type Decision } from '@runledger/event-log/append/decide-and-append';
import { lastOfRun } from '@runledger/event-log/read/read-run';
import { WebhookStatus } from '@runledger/contracts/http/runs/run-attempt';
import { redeliver, type RedeliverRefusal } from './redeliver.decide.ts';
import { operation, route, requestOf, type Route } from '../door/operation.ts';
import { Refused, type Conflict } from '../door/refusal.ts';
import { changedConcurrently, notFoundRun, RunPath, runKeyOf } from './run-path.ts';
import type { Kit } from '../kit.ts';
import type { Runs } from './runs.ts';
import { statusOf } from '../views/stored-run.decide.ts';
import { inLogOrCurrent, type InLogOrCurrent, type NoRun, type ReadCurrentRun } from './facts/current-run.ts';
import type { LatestWebhooks } from './facts/latest-webhooks.ts';
import { cursorAt } from '../door/pagination.ts';
import { checkBulkCursor, listRange, sortKeyAt } from './filter.ts';
import { wordsIn } from '../door/checked-request.ts';
import { BULK_PAGE, completely } from './bulk.ts';
import { actOnEach } from '../act-on-each.ts';

const redeliverOperation = operation({
  id: 'redeliverRun',
  method: 'POST',
  path: '/run/{run_id}/redeliver',
  tag: 'Webhooks',
  summary: "Send a run's final notification again",
  scope: 'runs:write',
  audit: { unrecorded: 'the fact that it stores names the user' },
  request: { path: RunPath },
  response: { status: 200, description: 'The redelivery is requested.', body: RunRedelivery },
  refusals: [404, 409],
});

export const redeliverRoute = (redeliver: RedeliverRun): Route =>
  route(redeliverOperation, async ({ path }, caller, ctx) => {
    const key = runKeyOf(path, caller);
    const { traceparent } = requestOf(ctx);
    const redelivery = await redeliver(key, { user_id: caller.user_id, traceparent });
    switch (redelivery.kind) {
      case 'requested':
        return { run_id: key.run_id, webhook_status: 'running' as const, round: redelivery.round };
      case 'refused':
        throw new Refused(WHY[redelivery.because]);
      // The request names no statuses.
      case 'status_excluded':
      case 'too_busy':
        throw changedConcurrently('delivery', 'the redelivery');
      case 'none':
      case 'deleted':
      case 'views_unavailable':
      case 'unreadable':
        throw notFoundRun(redelivery);
    }
  });

const WHY: Readonly<Record<RedeliverRefusal | 'expired', Conflict>> = {
  no_webhook: {
    code: 'run_has_no_webhook',
    why: 'The run has no webhook: set the field webhook when a run is queued',
  },
  not_ended: {
    code: 'run_not_ended',
    why: 'The run has not ended: its final notification is sent at the end, and can be sent again after that',
  },
  rounds_used_up: {
    code: 'redeliveries_used_up',
    why: `The notification was redelivered ${MAX_ROUNDS - 1} times, which is the limit. Read the run instead`,
  },
  expired: {
    code: 'run_events_expired',
    why: "The run's events have expired from the log, and a notification is made from them. Read the run instead, which is kept longer",
  },
};

type Redelivery =
  /** The request is stored. The notifier delivers. */
  | { readonly kind: 'requested'; readonly round: number }
  /** `expired`: the log no longer has the run's events, which a notification is made from, or those of its notifications. */
  | { readonly kind: 'refused'; readonly because: RedeliverRefusal | 'expired' }
  /** Its status is no longer one of those that the request names. */
  | { readonly kind: 'status_excluded' }
  /** The delivery changed again and again while it was decided on. */
  | { readonly kind: 'too_busy' }
  | NoRun;

interface Requester {
  readonly user_id: string;
  readonly traceparent: string | null;
}

/** `only` limits it to runs with these webhook statuses. @throws {LogUnavailable} */
export type RedeliverRun = (
  key: RunKey,
  by: Requester,
  only?: readonly WebhookStatus[],
) => Promise<Redelivery>;

/** Decides on the run as the log's leader has it. When its events have expired, decides on its view. */
export const redeliverRun =
  ({ log, writer, now, metrics }: Kit, current: ReadCurrentRun, webhooks: LatestWebhooks): RedeliverRun =>
  async (key, { user_id, traceparent }, only) => {
    const decided = await decideAndAppend<InLogOrCurrent, Decided>(log, {
      read: async (atLeast) => inLogOrCurrent(log, current, key, atLeast ?? (await lastOfRun(log, key))),
      decide: ({ found, head: inLog }) => {
        if (found.kind !== 'found') return answer(found);
        if (!found.webhook)
          return answer('webhookExpired' in found && found.webhookExpired ? EXPIRED : DAMAGED);
        const { state: webhook, head } = found.webhook;
        if (only && !only.includes(statusOf(webhook))) return answer({ kind: 'status_excluded' });
        const envelope = { event_id: newUuid(), ...key, time: now().toISOString(), writer, traceparent };
        const decision = redeliver(found.run, webhook, { user_id }, envelope);
        if (decision.kind === 'refused') return answer(decision);
        if (inLog === undefined) return answer(EXPIRED);
        const { event } = decision;
        const running = { status: 'running', round: event.round, updated_at: event.time } as const;
        const redelivery = { kind: 'requested', round: event.round } as const;
        return { kind: 'append', event, expected: head, answer: { redelivery, running } };
      },
      onConflict: metrics.conflict,
    });
    if (decided.kind === 'too_busy') return { kind: 'too_busy' };
    const { redelivery, running } = decided.answer;
    if (decided.kind === 'appended') webhooks.remember(key, { head: decided.sequence, state: running });
    return redelivery;
  };

interface Decided {
  readonly redelivery: Redelivery;
  /** The state of the notifications after the request. */
  readonly running?: Webhook;
}

const answer = (redelivery: Redelivery): Decision<Decided> => ({ kind: 'answer', answer: { redelivery } });

const EXPIRED = { kind: 'refused', because: 'expired' } as const;

const DAMAGED = {
  kind: 'unreadable',
  why: 'its webhook facts contradict each other',
} as const;

const redeliverManyOperation = operation({
  id: 'redeliverMany',
  method: 'POST',
  path: '/webhooks/redeliver',
  tag: 'Webhooks',
  summary: 'Send final notifications again',
  description:
    'Redelivers the final notifications of up to 1,000 runs that match the filter, newest first. `next_cursor` continues with the older ones.',
  scope: 'runs:write',
  audit: { unrecorded: 'the fact that it stores names the user' },
  request: { body: RedeliverRequest },
  response: {
    status: 200,
    description: 'How many runs matched, and how many redeliveries were requested.',
    body: RedeliverResponse,
  },
});

/**
 * The newest first. The views say which runs match. The log is ahead of them and says whether each still matches: a
 * repeated request redelivers no run twice. A delivery that failed again meanwhile matches again, but not on the following
 * pages. @throws {LogUnavailable} when some redeliveries may have been requested @throws {ViewsUnavailable} also when some may be missing
 */
export const redeliverManyRoute = ({ views }: Kit, { fresh }: Runs, redeliver: RedeliverRun): Route =>
  route(
    redeliverManyOperation,
    async ({ body: { filter, cursor, dry_run } }, { org_id, user_id }, ctx) => {
      const by = { user_id, traceparent: requestOf(ctx).traceparent };
      const { status, host, created_after, created_before, ...unread } = filter;
      allRead(unread);
      const statuses = wordsIn(WebhookStatus, status) ?? ['failed' as const];
      const which = {
        org_id,
        statuses,
        ...(typeof host === 'string' ? { host: host.toLowerCase() } : {}),
        ...listRange({ created_after, created_before }, sortKeyAt(cursor)),
        limit: BULK_PAGE,
      };
      const { items, end } = await completely(views, fresh, org_id, () => views.listWebhooks(which));
      const redelivered = await actOnEach(dry_run === true ? [] : items, ({ run_id }) =>
        redeliver({ org_id, run_id }, by, statuses),
      );
      const requested = redelivered.filter(({ kind }) => kind === 'requested').length;
      return { matched: items.length, requested, next_cursor: cursorAt(end) };
    },
    checkBulkCursor,
  );
