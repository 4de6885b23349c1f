import type { RunKey } from '@runledger/contracts/subjects';
import { openBucket } from '@runledger/event-log/bucket';
import { LogUnavailable, type EventLog } from '@runledger/event-log/event-log';
import { Type, type Static } from 'typebox';

/** What the uploads of an attempt take, by the path of the file. `key`: the stored file, null while it is on its way. */
const Reservations = Type.Object({
  files: Type.Array(
    Type.Object({
      path: Type.String(),
      bytes: Type.Integer({ minimum: 0 }),
      key: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
});
type Reservations = Static<typeof Reservations>;
type FileEntry = Reservations['files'][number];

export interface UploadLimits {
  readonly attemptBytes: number;
  readonly files: number;
}

interface UploadFile {
  readonly path: string;
  readonly bytes: number;
}

type Reserved = { readonly kind: 'reserved' } | { readonly kind: 'over_limit'; readonly why: string };

/** Limits hold across gateways, since what is on its way counts, by compare-and-set. All of it may throw LogUnavailable. */
export interface UploadReservations {
  reserve(run: RunKey, attempt: number, file: UploadFile): Promise<Reserved>;
  /** The file is stored under `key`; answers the key of the file that it replaces. */
  commit(run: RunKey, attempt: number, file: UploadFile, key: string): Promise<string | null>;
  /** The upload broke off: what it replaces, if anything, still counts. */
  release(run: RunKey, attempt: number, file: UploadFile): Promise<void>;
}

const MOST_TRIES = 20;

export const uploadReservations = (log: EventLog, limits: UploadLimits): UploadReservations => {
  const bucket = openBucket(log, 'UPLOADS', Reservations);
  /** `change` answers undefined when there is nothing to write. */
  const update = async (
    run: RunKey,
    attempt: number,
    change: (files: readonly FileEntry[]) => FileEntry[] | undefined,
  ): Promise<void> => {
    const name = `${run.org_id}.${run.run_id}.${attempt}`;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const entry = await bucket.get(name);
      const files = change(entry?.value.files ?? []);
      if (files === undefined) return;
      const written = entry
        ? await bucket.update(name, { files }, entry.revision)
        : await bucket.create(name, { files });
      if (written !== false) return;
    }
    throw new LogUnavailable(`The uploads of run ${run.run_id} change too fast to be counted. Try again.`);
  };
  return {
    reserve: async (run, attempt, file) => {
      let reserved: Reserved = { kind: 'reserved' };
      await update(run, attempt, (files) => {
        const present = files.find(({ path }) => path === file.path);
        const others = files.filter(({ path }) => path !== file.path);
        reserved = judge(others, file, limits);
        if (reserved.kind === 'over_limit') return undefined;
        return [...others, { ...file, key: present?.key ?? null }];
      });
      return reserved;
    },
    commit: async (run, attempt, file, key) => {
      let replaced: string | null = null;
      await update(run, attempt, (files) => {
        replaced = files.find(({ path }) => path === file.path)?.key ?? null;
        return [...files.filter(({ path }) => path !== file.path), { ...file, key }];
      });
      return replaced;
    },
    release: (run, attempt, file) =>
      update(run, attempt, (files) => {
        const mine = files.find(({ path, key }) => path === file.path && key === null);
        return mine ? files.filter((entry) => entry !== mine) : undefined;
      }),
  };
};

const judge = (others: readonly FileEntry[], file: UploadFile, limits: UploadLimits): Reserved => {
  if (others.length >= limits.files) {
    return { kind: 'over_limit', why: `An attempt may store at most ${limits.files} files` };
  }
  const bytes = others.reduce((sum, other) => sum + other.bytes, file.bytes);
  if (bytes > limits.attemptBytes) {
    return {
      kind: 'over_limit',
      why: `The files of an attempt may have at most ${limits.attemptBytes} bytes together, and this one would make ${bytes}`,
    };
  }
  return { kind: 'reserved' };
};
