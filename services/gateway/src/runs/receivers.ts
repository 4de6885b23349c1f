import { ReceiversQuery, WebhookReceivers } from '@runledger/contracts/http/webhooks/receivers';
import { originOf } from '@runledger/contracts/deliveries/partition';
import type { OrgId } from '@runledger/contracts/ids';
import { MAX_NAMED_ORIGIN, MAX_NAMED_ORIGINS } from '@runledger/contracts/requests/receivers';
import { requestReceivers } from '@runledger/request-reply/receivers';
import { operation, route, type Route } from '../door/operation.ts';
import { WEBHOOK_STATUSES } from '../views/stored-run.decide.ts';
import type { Kit } from '../kit.ts';

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
  refusals: [],
});

export const receiversRoute = (kit: Kit): Route =>
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
