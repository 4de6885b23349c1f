import { allRead } from '@runledger/contracts/all-read';
import { secretBox } from '@runledger/webhooks/secret-box';
import { signingSecrets, type SigningSecrets } from '@runledger/webhooks/signing-secrets';
import {
  RotateSecretRequest,
  WebhookSecret,
  ReceiversQuery,
  WebhookReceivers,
} from '@runledger/contracts/http/webhook-receivers';
import { RunDeliveries, DeliveryPage, DeliveryQuery } from '@runledger/contracts/http/webhooks';
import { operation, route, type Route } from '../door/operation.ts';
import { Refused } from '../door/refusal.ts';
import type { Kit } from '../kit.ts';
import type { LogCapacity } from './facts/log-capacity.ts';
import type { Runs } from './runs.ts';
import { redeliverManyRoute, redeliverRoute, redeliverRun, type RedeliverRun } from './redeliver.ts';
import { readDeliveries, readDeliveryStates } from '@runledger/event-log/streams/delivery-attempts';
import { deliveriesResponse, NO_ATTEMPTS, listedDelivery } from './redeliver.decide.ts';
import { showCallback } from './run-response.ts';
import { existingRun, RunPath, runKeyOf } from './run-path.ts';
import { WEBHOOK_STATUSES } from '../views/stored-run.decide.ts';
import { cursorAt, DEFAULT_LIMIT } from '../door/pagination.ts';
import { listRange, checkRunCursor, sortKeyAt } from './filter.ts';
import { originOf } from '@runledger/contracts/deliveries/timers';
import type { OrgId } from '@runledger/contracts/ids';
import { MAX_NAMED_ORIGIN, MAX_NAMED_ORIGINS } from '@runledger/contracts/deliveries/receivers';
import { requestReceivers } from '@runledger/request-reply/receivers';

/** Deliveries of notifications and their receivers, redelivery, and the secret that signs them. */
export const webhookRoutes = (kit: Kit, runs: Runs): Route[] => {
  const { config, log, now } = kit;
  const redeliver = withinCapacity(runs.capacity, redeliverRun(kit, runs.current, runs.webhooks));
  const box = secretBox(config.RUNLEDGER_SECRET_KEYS);
  return [
    deliveriesRoute(kit, runs),
    redeliverRoute(redeliver),
    listDeliveriesRoute(kit),
    receiversRoute(kit),
    redeliverManyRoute(kit, runs, redeliver),
    ...webhookSecretRoutes(signingSecrets(log, box, { now })),
  ];
};

/** Redeliveries may not use the room that accepted runs need for their ends. @throws {Refused} */
const withinCapacity =
  (capacity: LogCapacity, redeliver: RedeliverRun): RedeliverRun =>
  async (...request) => {
    const redelivery = await capacity.within(() => redeliver(...request));
    if (redelivery !== 'log_nearly_full') return redelivery;
    throw new Refused({
      code: 'log_full',
      why: 'The log of runs has no room for another redelivery. Try again when runs have ended or old ones have expired; an operator can raise runsMaxBytes in RUNLEDGER_LOG_SETTINGS',
    });
  };

const showOperation = operation({
  id: 'getWebhookSecret',
  method: 'GET',
  path: '/webhooks/secret',
  tag: 'Webhooks',
  summary: 'Read the signing secret',
  description: "Receivers verify the organisation's webhooks with it.",
  scope: 'admin',
  audit: { action: 'secret.read' },
  request: {},
  response: { status: 200, description: 'The secret.', body: WebhookSecret, holdsSecret: true },
});

const rotateOperation = operation({
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: '/webhooks/secret',
  tag: 'Webhooks',
  summary: 'Rotate the signing secret',
  description: 'The previous secret also signs for a while, so that receivers can change over.',
  scope: 'admin',
  audit: { action: 'secret.rotated' },
  request: { body: RotateSecretRequest },
  bodyOptional: true,
  response: { status: 200, description: 'The new secret.', body: WebhookSecret, holdsSecret: true },
});

const webhookSecretRoutes = (secrets: SigningSecrets): Route[] => [
  route(showOperation, async (_given, { org_id }) => secrets.current(org_id)),
  route(rotateOperation, async ({ body }, { org_id }) =>
    // The body may be missing, which its type does not say.
    secrets.rotate(org_id, { overlap_s: (body as typeof body | undefined)?.overlap_s ?? undefined }),
  ),
];

const deliveriesOperation = operation({
  id: 'getDeliveries',
  method: 'GET',
  path: '/run/{run_id}/deliveries',
  tag: 'Webhooks',
  summary: "Read the outcome of a run's notifications",
  description: 'Every delivery attempt of the run, and the state of its delivery.',
  scope: 'runs:read',
  request: { path: RunPath },
  response: { status: 200, description: 'The delivery attempts.', body: RunDeliveries },
  refusals: [404],
});

const deliveriesRoute = ({ log }: Kit, { current }: Runs): Route =>
  route(deliveriesOperation, async ({ path }, caller) => {
    const key = runKeyOf(path, caller);
    const { run, webhook } = await existingRun(current, key);
    const made = run.request.webhook === null ? NO_ATTEMPTS : await readDeliveries(log, key);
    return deliveriesResponse(run, webhook.state, made, showCallback(caller.key.scopes));
  });

const listDeliveriesOperation = operation({
  id: 'listDeliveries',
  method: 'GET',
  path: '/webhooks/deliveries',
  tag: 'Webhooks',
  summary: 'List runs with a webhook',
  description: 'Newest first, with the outcome of their notifications.',
  scope: 'runs:read',
  request: { query: DeliveryQuery },
  response: { status: 200, description: 'A page of runs.', body: DeliveryPage },
});

const listDeliveriesRoute = ({ log, views }: Kit): Route =>
  route(
    listDeliveriesOperation,
    async ({ query }, caller) => {
      const { status, host, created_after, created_before, limit, cursor, ...unread } = query;
      allRead(unread);
      const { items, end } = await views.listWebhooks({
        org_id: caller.org_id,
        statuses: status ?? WEBHOOK_STATUSES,
        ...(host === undefined ? {} : { host: host.toLowerCase() }),
        ...listRange({ created_after, created_before }, sortKeyAt(cursor)),
        limit: limit ?? DEFAULT_LIMIT,
      });
      const stored = await readDeliveryStates(log, items);
      const show = showCallback(caller.key.scopes);
      return {
        deliveries: items.map((row) => listedDelivery(row, stored.get(row.run_id), show)),
        next_cursor: cursorAt(end),
      };
    },
    checkRunCursor,
  );

const listReceiversOperation = operation({
  id: 'listReceivers',
  method: 'GET',
  path: '/webhooks/receivers',
  tag: 'Webhooks',
  summary: 'List the receivers of webhooks',
  description:
    'Each origin to which the organisation has or had webhooks lately, as the notifier that sends them knows it: whether its circuit breaker is open and when the next attempt is let through, how much waits, what holds it up, and what became of the last attempts. What a notifier knows of attempts begins when it starts or takes the receiver over. Numbers are those of the organisation only. It responds within two seconds: when a notifier has not responded by then, `complete` is false.',
  scope: 'runs:read',
  request: { query: ReceiversQuery },
  response: { status: 200, description: 'The receivers.', body: WebhookReceivers },
});

const receiversRoute = (kit: Kit): Route =>
  route(listReceiversOperation, ({ query }, caller) =>
    readReceivers(kit, caller.org_id, query.host?.toLowerCase()),
  );

/** What notifiers have not responded by then is missing. */
const WITHIN = { totalMs: 1_000, quietMs: 400, most: 100 };
/** Runs whose receivers are named to the notifiers, of the newest ones and of the newest that are tried again. */
const RECENT_RUNS = 200;

/**
 * Reads what the notifiers know of the receivers of an organisation. A notifier that has just started remembers none, so the origins of
 * recent runs are named to it. @throws {ViewsUnavailable}
 */
const readReceivers = async (
  { log, views }: Kit,
  org_id: OrgId,
  host: string | undefined,
): Promise<WebhookReceivers> => {
  const which = { org_id, ...(host === undefined ? {} : { host }), limit: RECENT_RUNS };
  const pages = await Promise.all([
    views.listWebhooks({ ...which, statuses: ['running'] }),
    views.listWebhooks({ ...which, statuses: WEBHOOK_STATUSES }),
  ]);
  const origins = new Set(pages.flatMap(({ items }) => items.flatMap(({ url }) => originsIn(url))));
  const request = { org_id, host: host ?? null, origins: [...origins].slice(0, MAX_NAMED_ORIGINS) };
  const { receivers, more, complete } = await requestReceivers(log, request, WITHIN);
  return {
    complete,
    receivers: receivers.map((receiver) => ({ host: hostOf(receiver.origin), ...receiver })),
    more,
  };
};

/** None for an invalid URL, and for one with a name longer than any that can be resolved. */
const originsIn = (url: string): string[] => {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.host === '') return [];
  const origin = originOf(parsed);
  return origin.length > MAX_NAMED_ORIGIN ? [] : [origin];
};

const hostOf = (origin: string): string => URL.parse(origin)?.host ?? origin;
