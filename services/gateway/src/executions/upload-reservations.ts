import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { LogFull } from '@runledger/event-log/append/append';
import { LogUnavailable, type EventLog } from '@runledger/event-log/connect/event-log';
import { Type, type Static } from 'typebox';
import { OutputStoreFull } from '../outputs/store/output-store.ts';

/**
 * The files of a run's last attempt, by their paths; files of a lost attempt no longer count. `key`: the stored file, null
 * before the first; `coming`: the key of the upload in progress, null without one.
 */
const Reservations = Type.Object({
  attempt: Type.Integer({ minimum: 1 }),
  files: Type.Array(
    Type.Object({
      path: Type.String(),
      bytes: Type.Integer({ minimum: 0 }),
      key: Type.Union([Type.String(), Type.Null()]),
      coming: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
});
type FileEntry = Static<typeof Reservations>['files'][number];

export interface UploadLimits {
  readonly runBytes: number;
  readonly files: number;
}

interface UploadFile {
  readonly path: string;
  readonly bytes: number;
  /** The key under which the file will be stored, unique for each upload. */
  readonly key: string;
}

type Reserved =
  /** `left`: keys of files that a lost attempt stored, which can be removed. */
  | { readonly kind: 'reserved'; readonly left: readonly string[] }
  | { readonly kind: 'over_limit'; readonly why: string }
  /** A later attempt stores its files already. */
  | { readonly kind: 'superseded' };

/** `superseded` also when the same file was sent again meanwhile: the last upload counts. */
type Committed =
  /** `replaced`: the key of the file that it replaces, or null. */
  { readonly kind: 'committed'; readonly replaced: string | null } | { readonly kind: 'superseded' };

/**
 * Limits hold across gateways: uploads in progress count too, by compare-and-set. Every method may throw LogUnavailable, or
 * OutputStoreFull when the bucket of reservations is full.
 */
export interface UploadReservations {
  reserve(run: RunKey, attempt: number, file: UploadFile): Promise<Reserved>;
  /** The file is stored. */
  commit(run: RunKey, attempt: number, file: UploadFile): Promise<Committed>;
  /** The keys of the files that this attempt has stored. */
  storedKeys(run: RunKey, attempt: number): Promise<ReadonlySet<string>>;
  /** The upload was interrupted: the file that it would have replaced still counts. */
  release(run: RunKey, attempt: number, file: UploadFile): Promise<void>;
}

const MAX_TRIES = 20;

export const uploadReservations = (log: EventLog, limits: UploadLimits): UploadReservations => {
  const bucket = openBucket(log, 'UPLOADS', Reservations);
  /** `change` gets the files of this attempt and of lost ones. It returns undefined when nothing has to be written. */
  const update = async (
    run: RunKey,
    attempt: number,
    change: (files: readonly FileEntry[], lost: readonly FileEntry[]) => FileEntry[] | undefined,
  ): Promise<'done' | 'superseded'> => {
    const name = nameOf(run);
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const entry = await bucket.get(name);
      const present = entry?.value ?? { attempt, files: [] };
      if (present.attempt > attempt) return 'superseded';
      const files = present.attempt === attempt ? change(present.files, []) : change([], present.files);
      if (files === undefined) return 'done';
      const written = await (
        entry
          ? bucket.update(name, { attempt, files }, entry.revision)
          : bucket.create(name, { attempt, files })
      ).catch(orFull);
      if (written !== false) return 'done';
    }
    throw new LogUnavailable(`The uploads of run ${run.run_id} change too fast to be counted. Try again.`);
  };
  return {
    reserve: async (run, attempt, file) => {
      let reserved: Reserved = { kind: 'superseded' };
      const updated = await update(run, attempt, (files, lost) => {
        const present = files.find(({ path }) => path === file.path);
        const others = files.filter(({ path }) => path !== file.path);
        const why = whyOverLimit(others, file, limits);
        if (why !== undefined) {
          reserved = { kind: 'over_limit', why };
          return undefined;
        }
        reserved = { kind: 'reserved', left: lost.flatMap(({ key }) => key ?? []) };
        const { path, bytes, key: coming } = file;
        return [...others, { path, bytes, key: present?.key ?? null, coming }];
      });
      return updated === 'superseded' ? { kind: 'superseded' } : reserved;
    },
    commit: async (run, attempt, { path, bytes, key }) => {
      let committed: Committed = { kind: 'superseded' };
      await update(run, attempt, (files) => {
        const mine = files.find((entry) => entry.path === path && entry.coming === key);
        committed = mine ? { kind: 'committed', replaced: mine.key } : { kind: 'superseded' };
        return mine && [...files.filter((entry) => entry !== mine), { path, bytes, key, coming: null }];
      });
      return committed;
    },
    storedKeys: async (run, attempt) => storedKeys((await bucket.get(nameOf(run)))?.value, attempt),
    release: async (run, attempt, { path, key }) => {
      await update(run, attempt, (files) => {
        const mine = files.find((entry) => entry.path === path && entry.coming === key);
        if (!mine) return undefined;
        const others = files.filter((entry) => entry !== mine);
        return mine.key === null ? others : [...others, { ...mine, coming: null }];
      });
    },
  };
};

/** @throws the error */
const orFull = (error: unknown): never => {
  if (!(error instanceof LogFull)) throw error;
  throw new OutputStoreFull(
    'The bucket UPLOADS of the broker, which counts the files of runs, is full. An operator has to raise its limit (uploadsMaxBytes in RUNLEDGER_LOG_SETTINGS), or wait until old entries expire',
    { cause: error },
  );
};

const nameOf = ({ org_id, run_id }: RunKey): string => `${org_id}.${run_id}`;

const storedKeys = (
  reserved: Static<typeof Reservations> | undefined,
  attempt: number,
): ReadonlySet<string> => {
  const files = reserved?.attempt === attempt ? reserved.files : [];
  return new Set(files.flatMap(({ key }) => key ?? []));
};

const whyOverLimit = (
  others: readonly FileEntry[],
  file: UploadFile,
  limits: UploadLimits,
): string | undefined => {
  if (others.length >= limits.files) return `A run may store at most ${limits.files} files`;
  const bytes = others.reduce((sum, other) => sum + other.bytes, file.bytes);
  if (bytes <= limits.runBytes) return undefined;
  return `The files of a run may have at most ${limits.runBytes} bytes together, and with this one they would have ${bytes}`;
};
