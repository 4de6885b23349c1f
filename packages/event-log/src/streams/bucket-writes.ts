import { Kvm, type KV } from '@nats-io/kv';
import { headers } from '@nats-io/transport-node';
import { callBroker } from '../connect/broker-call.ts';
import type { EventLog } from '../connect/event-log.ts';
import { OWN_API_PREFIX } from '../connect/broker-config.ts';
import { isConflict, explainRefusal } from '../append/publish.ts';

export type BucketName =
  | 'ACCOUNTS'
  | 'ARCHIVE'
  | 'CATALOGUE'
  | 'FILES'
  | 'KEYS'
  | 'RATES'
  | 'SCHEDULES'
  | 'WEBHOOK_SECRETS';

export type Store = (kv: () => Promise<KV>, data: Uint8Array) => Promise<number>;

interface RecordWrite extends Stored {
  readonly withinMs: number;
}

/** The revision, or false after a conflict. `unclear`: the conflict may be with an earlier try whose response was lost. */
export const writeRecord = async (
  { bucket, key, data, withinMs }: RecordWrite,
  kv: () => Promise<KV>,
  store: Store,
): Promise<number | false | 'unclear'> => {
  let tries = 0;
  const tryIt = async (): Promise<number> => {
    tries += 1;
    return store(kv, data).catch((error: unknown) => {
      // The broker refuses a message for a full stream as if it were unavailable: without this, it would be sent again.
      throw explainRefusal(error, `KV_${bucket}`, data);
    });
  };
  try {
    return await callBroker(`writing ${key} of ${bucket}`, tryIt, withinMs);
  } catch (error) {
    if (!isConflict(error)) throw error;
    return tries === 1 ? false : 'unclear';
  }
};

interface Stored {
  readonly bucket: BucketName;
  readonly key: string;
  readonly data: Uint8Array;
  /** It says that the key was removed. */
  readonly isMarker?: boolean;
}

/** The condition of a write: that this key has this revision; 0 for none. */
interface Expected {
  readonly key: string;
  readonly revision: number;
}

/**
 * Stores a record in place of all former ones of its key. It rolls them up, which the broker writes down as a removal. What a limit
 * of messages for each subject drops is not written down: after the new record was erased, a kill of the broker would bring it back.
 */
export const publishRecord = async (
  { js, apiPrefix }: EventLog,
  { bucket, key, data, isMarker = false }: Stored,
  expected?: Expected,
): Promise<number> => {
  const subject = `$KV.${bucket}.${key}`;
  const rollUp = headers();
  rollUp.set('Nats-Rollup', 'sub');
  if (isMarker) rollUp.set('KV-Operation', 'PURGE');
  // A user with an account of its own writes under the prefix, as the driver does (ADR 25).
  const { seq } = await js.publish(apiPrefix === OWN_API_PREFIX ? subject : `${apiPrefix}.${subject}`, data, {
    headers: rollUp,
    ...(expected && {
      expect: {
        lastSubjectSequence: expected.revision,
        lastSubjectSequenceSubject: `$KV.${bucket}.${expected.key}`,
      },
    }),
  });
  return seq;
};

/** Opens the bucket at the first use, and again after a failure. Only provisioning creates it. */
export const bucketOpener = (log: EventLog, bucket: BucketName): (() => Promise<KV>) => {
  let opening: Promise<KV> | undefined;
  return () => {
    opening ??= new Kvm(log.js).open(bucket, { bindOnly: true }).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
};
