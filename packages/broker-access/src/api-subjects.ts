import { API_PREFIX } from '@runledger/event-log/connect/log-account';

const OWN_PREFIX = '$JS.API';

/** Requests to the broker about one stream, as the driver makes them. */
const api = (request: string): string => `${API_PREFIX}.${request}`;

/** How the stream is set up and how full it is. */
export const streamInfo = (stream: string): string => api(`STREAM.INFO.${stream}`);
/** Single messages, as the leader has them. */
export const streamMessageGet = (stream: string): string => api(`STREAM.MSG.GET.${stream}`);
/** Messages from any replica: several, by a query. */
export const directGet = (stream: string): string => api(`DIRECT.GET.${stream}`);
/** The last message under one subject, from any replica. */
export const directGetLast = (stream: string, subject: string): string =>
  api(`DIRECT.GET.${stream}.${subject}`);
export const streamPurge = (stream: string): string => api(`STREAM.PURGE.${stream}`);
export const messageDelete = (stream: string): string => api(`STREAM.MSG.DELETE.${stream}`);

/** To make a consumer that the broker names, and to take from it. Nobody can be allowed only the names of his own. */
export const ephemeralConsumers = (stream: string): readonly string[] => [
  api(`CONSUMER.CREATE.${stream}`),
  // The driver asks whether it is still there, after an interruption.
  api(`CONSUMER.INFO.${stream}.*`),
  api(`CONSUMER.MSG.NEXT.${stream}.*`),
];
/** Of a stream that only one service reads with consumers. */
export const consumerDelete = (stream: string): string => api(`CONSUMER.DELETE.${stream}.*`);

/** Everything about one consumer that is kept under a name, on one filter. */
export const durableConsumer = (stream: string, name: string, filter: string): readonly string[] => [
  api(`CONSUMER.CREATE.${stream}.${name}.${filter}`),
  api(`CONSUMER.INFO.${stream}.${name}`),
  api(`CONSUMER.DELETE.${stream}.${name}`),
  api(`CONSUMER.MSG.NEXT.${stream}.${name}`),
  `$JS.ACK.${stream}.${name}.>`,
];

/** The driver reads objects with a consumer that pushes into the reader's inbox, held back by its answers. */
export const objectConsumers = (stream: string): readonly string[] => [
  api(`CONSUMER.CREATE.${stream}.*.>`),
  api(`CONSUMER.DELETE.${stream}.*`),
  `$JS.FC.${stream}.>`,
];

/** Where the driver writes a key of a bucket, as it does under any prefix but JetStream's own. */
export const bucketKeys = (bucket: string): string => api(`$KV.${bucket}.>`);

/** What the log's account knows a subject as. */
export const inLogAccount = (subject: string): string => {
  if (!subject.startsWith(`${API_PREFIX}.`)) return subject;
  const rest = subject.slice(API_PREFIX.length + 1);
  return rest.startsWith('$KV.') ? rest : `${OWN_PREFIX}.${rest}`;
};

/** One request, many answers. */
export const hasStreamedResponse = (subject: string): boolean =>
  /^\$JS\.API\.(CONSUMER\.MSG\.NEXT\.|DIRECT\.GET\.[^.]+$)/.test(subject);

/** Under `API_PREFIX` within the log's account itself: each entry covers what the others do not. */
export const PREFIX_MAPPINGS: readonly (readonly [string, string])[] = [
  ...['STREAM.>', 'CONSUMER.>', 'DIRECT.>', 'META.>', 'SERVER.>', 'ACCOUNT.>', 'INFO'].map(
    (part): readonly [string, string] => [api(part), `${OWN_PREFIX}.${part}`],
  ),
  [api('$KV.>'), '$KV.>'],
];
