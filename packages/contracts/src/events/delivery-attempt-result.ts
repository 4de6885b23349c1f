import { Type, type Static } from 'typebox';
import { enumInWords, valuesOf, type InWords } from '../words/in-words.ts';

/** How a delivery attempt ended. Metrics have these words as labels. A table of the notifier decides the consequence of each. */
const RESULTS = {
  accepted: 'The receiver answered 2xx: it has the notification.',
  gone: 'It answered 410: it wants no further attempts.',
  redirect: 'It answered 3xx, which is never followed.',
  client_error: 'It answered 4xx, except 410 and 429.',
  throttled: 'It answered 429.',
  server_error: 'It answered 5xx.',
  forbidden: 'The webhook policy does not allow the URL, or an address that its name resolves to.',
  name_not_found: 'The name does not exist, or has no address.',
  name_unanswered: 'The authoritative DNS servers of the name do not answer.',
  connect_refused: 'The connection was refused.',
  connect_failed: 'The receiver is unreachable, or the connection was reset before anything was sent.',
  connect_timed_out: 'The attempt timed out before it was connected.',
  tls_failed: 'The certificate is invalid, or the TLS version is below 1.2.',
  reset: 'The connection ended before the headers of the response were complete.',
  malformed_answer: 'The response was not HTTP.',
  timed_out: 'It was connected, but no final status came within the time of the attempt.',
  proxy_failed: 'The egress proxy cannot be reached, or refuses the request.',
  no_dns: 'No DNS server answers.',
  interrupted: 'The notifier stopped or lost its partition during the attempt.',
  internal_error: 'A failure of the notifier.',
} as const satisfies InWords<string>;

export const DeliveryAttemptResult = enumInWords(RESULTS, { description: 'How the attempt ended.' });
export type DeliveryAttemptResult = Static<typeof DeliveryAttemptResult>;
export const DELIVERY_ATTEMPT_RESULTS: readonly DeliveryAttemptResult[] = valuesOf(RESULTS);

const seconds = (what: string) =>
  Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
    description: `Seconds ${what}. Null when that was not reached, or not needed because a connection was reused.`,
    examples: [0.012],
  });

export const DeliveryAttemptPhases = Type.Object(
  {
    dns: seconds('that it took to resolve the name'),
    connect: seconds('that it took to open the connection, also through the egress proxy'),
    tls: seconds('that the TLS handshake took'),
    wait: seconds('from the request to the last header of the response'),
    body: seconds('that it took to read the body of the response'),
  },
  { description: 'How long each phase of the attempt took.' },
);
export type DeliveryAttemptPhases = Static<typeof DeliveryAttemptPhases>;

/** The longest part of a response's body that is kept. */
export const MAX_RESPONSE_EXCERPT_BYTES = 2_048;
