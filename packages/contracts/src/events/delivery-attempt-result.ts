import { Type, type Static } from 'typebox';

const Seconds = Type.Union([Type.Number({ minimum: 0 }), Type.Null()]);

/**
 * How a delivery attempt ended. The API shows these words, and metrics have them as labels. A table of the notifier
 * decides the consequence of each.
 */
export const DELIVERY_ATTEMPT_RESULTS = [
  /** 2xx */
  'accepted',
  /** 410: the receiver wants no further attempts. */
  'gone',
  /** 3xx: never followed. */
  'redirect',
  /** 4xx except 410 and 429. */
  'client_error',
  /** 429 */
  'throttled',
  /** 5xx */
  'server_error',
  /** The webhook policy does not allow the URL, or an address that its name resolves to. */
  'forbidden',
  /** The name does not exist, or has no address. */
  'name_not_found',
  /** The authoritative DNS servers of the name do not answer. */
  'name_unanswered',
  'connect_refused',
  /** Unreachable, or reset before anything was sent. */
  'connect_failed',
  /** The attempt timed out before it was connected. */
  'connect_timed_out',
  /** An invalid certificate, or a TLS version below 1.2. */
  'tls_failed',
  /** The connection ended before the response's headers were complete. */
  'reset',
  /** The response was not HTTP. */
  'malformed_answer',
  /** Connected, but no final status within the attempt's time. */
  'timed_out',
  /** The egress proxy cannot be reached, or refuses us. */
  'proxy_failed',
  /** No DNS server answers. */
  'no_dns',
  /** The notifier stopped or lost its partition during the attempt. */
  'interrupted',
  /** A failure of the notifier: an unreadable secret, or a bug. */
  'internal_error',
] as const;
export const DeliveryAttemptResult = Type.Enum([...DELIVERY_ATTEMPT_RESULTS]);
export type DeliveryAttemptResult = Static<typeof DeliveryAttemptResult>;

/** Seconds. Null for a phase that was not reached, or not needed because a connection was reused. */
export const DeliveryAttemptPhases = Type.Object({
  dns: Seconds,
  connect: Seconds,
  tls: Seconds,
  /** From the request to the last header of the response. */
  wait: Seconds,
  body: Seconds,
});
export type DeliveryAttemptPhases = Static<typeof DeliveryAttemptPhases>;

/** The longest part of a response's body that is kept. */
export const MAX_RESPONSE_EXCERPT_BYTES = 2_048;
