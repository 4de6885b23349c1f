import { instancesSubject, SERVICES_WITH_INSTANCES } from '@runledger/contracts/requests/instances';
import { RECEIVERS_SUBJECT } from '@runledger/contracts/deliveries/receivers';
import { API_PREFIX, OWN_API_PREFIX } from '@runledger/event-log/connect/broker-config';

/** A request to JetStream, as the driver sends it. */
const api = (request: string): string => `${API_PREFIX}.${request}`;

/** The configuration and the state of a stream. */
export const streamInfo = (stream: string): string => api(`STREAM.INFO.${stream}`);
/** Single messages from the stream's leader. */
export const streamMessageGet = (stream: string): string => api(`STREAM.MSG.GET.${stream}`);
/** Several messages from any replica, by a query. */
export const directGet = (stream: string): string => api(`DIRECT.GET.${stream}`);
/** The last message under one subject, from any replica. */
export const directGetLast = (stream: string, subject: string): string =>
  api(`DIRECT.GET.${stream}.${subject}`);
/** The leader gives up the stream, for another broker that the request names. */
export const leaderStepDown = (stream: string): string => api(`STREAM.LEADER.STEPDOWN.${stream}`);
export const streamPurge = (stream: string): string => api(`STREAM.PURGE.${stream}`);
export const messageDelete = (stream: string): string => api(`STREAM.MSG.DELETE.${stream}`);

/** Creating and reading consumers that the broker names. Permissions cannot be limited to a user's own consumers. */
export const ephemeralConsumers = (stream: string): readonly string[] => [
  api(`CONSUMER.CREATE.${stream}`),
  // After an interruption the driver checks that the consumer still exists.
  api(`CONSUMER.INFO.${stream}.*`),
  api(`CONSUMER.MSG.NEXT.${stream}.*`),
];
/** Only for streams that a single service reads with consumers. */
export const consumerDelete = (stream: string): string => api(`CONSUMER.DELETE.${stream}.*`);

/**
 * Creating a consumer of any name with one filter. Who may do this may have messages pushed to any subject, with the rights of the account
 * of the log: no permission limits the body.
 */
export const createConsumer = (stream: string, filter: string): string =>
  api(`CONSUMER.CREATE.${stream}.*.${filter}`);

/** Pulling from one durable consumer, and removing it. */
export const pulledConsumer = (stream: string, name: string): readonly string[] => [
  api(`CONSUMER.INFO.${stream}.${name}`),
  api(`CONSUMER.DELETE.${stream}.${name}`),
  api(`CONSUMER.RESET.${stream}.${name}`),
  api(`CONSUMER.MSG.NEXT.${stream}.${name}`),
  `$JS.ACK.${stream}.${name}.>`,
];

/** Where the driver writes the keys of a bucket, as it does under any prefix but JetStream's own. */
export const bucketKeys = (bucket: string): string => api(`$KV.${bucket}.>`);

/** The name of a subject in the account of the log. */
export const inLogAccount = (subject: string): string => {
  if (!subject.startsWith(`${API_PREFIX}.`)) return subject;
  const rest = subject.slice(API_PREFIX.length + 1);
  return rest.startsWith('$KV.') ? rest : `${OWN_API_PREFIX}.${rest}`;
};

/** Whether one request gets many responses. */
export const hasStreamedResponse = (subject: string): boolean =>
  /^\$JS\.API\.(CONSUMER\.MSG\.NEXT\.|DIRECT\.GET\.[^.]+$)/.test(subject) || GATHERED.has(subject);

/** Every process of the service responds. */
const GATHERED: ReadonlySet<string> = new Set([
  ...SERVICES_WITH_INSTANCES.map(instancesSubject),
  RECEIVERS_SUBJECT,
]);

/** Mappings of `API_PREFIX` within the account of the log. The entries do not overlap. */
export const PREFIX_MAPPINGS: readonly (readonly [string, string])[] = [
  ...['STREAM.>', 'CONSUMER.>', 'DIRECT.>', 'META.>', 'SERVER.>', 'ACCOUNT.>', 'INFO'].map(
    (part): readonly [string, string] => [api(part), `${OWN_API_PREFIX}.${part}`],
  ),
  [api('$KV.>'), '$KV.>'],
];
