import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { createdOf } from '../messages/stream-identity.ts';
import type { BucketName } from './bucket-writes.ts';

/** The broker's time of the creation of a bucket. @throws {LogUnavailable} */
export const bucketCreated = async (log: EventLog, bucket: BucketName): Promise<string> => {
  const read = () => log.jsm.streams.info(`KV_${bucket}`);
  return createdOf(await callBroker(`reading the state of bucket ${bucket}`, read));
};
