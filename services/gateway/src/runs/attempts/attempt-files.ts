import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { LRUCache } from 'lru-cache';

/**
 * A file of an attempt, under its path. `key`: the stored file, null before the first; `coming`: the key of the upload in
 * progress, null without one.
 */
interface FileEntry {
  readonly bytes: number;
  readonly key: string | null;
  readonly coming: string | null;
}

/** The files of a run's last attempt; files of a lost attempt no longer count. */
interface AttemptEntry {
  readonly attempt: number;
  readonly files: ReadonlyMap<string, FileEntry>;
}

interface UploadFile {
  readonly path: string;
  readonly bytes: number;
  /** The key under which the file will be stored, unique for each upload. */
  readonly key: string;
}

interface FileLimits {
  readonly files: number;
  /** What the attempt has announced. */
  readonly bytes: number;
}

type Begun =
  /** `left`: keys of files that a lost attempt stored, which can be removed. */
  | { readonly kind: 'begun'; readonly left: readonly string[] }
  | { readonly kind: 'too_many_files' }
  | { readonly kind: 'not_announced'; readonly bytes: number }
  /** A later attempt stores its files already. */
  | { readonly kind: 'superseded' };

/** `superseded` also when the same file was sent again meanwhile: the last upload counts. */
type Committed =
  /** `replaced`: the key of the file that it replaces, or null. */
  { readonly kind: 'committed'; readonly replaced: string | null } | { readonly kind: 'superseded' };

/**
 * What attempts store through this gateway, in its memory. The bytes of an attempt are announced in the log before the first
 * upload, so all gateways know its limit; this one also sees that no attempt stores more.
 */
export interface AttemptFiles {
  begin(run: RunKey, attempt: number, file: UploadFile, limits: FileLimits): Begun;
  /** The file is stored. */
  commit(run: RunKey, attempt: number, file: UploadFile): Committed;
  /** The upload was interrupted: the file that it would have replaced still counts. */
  release(run: RunKey, attempt: number, file: UploadFile): void;
}

/** In the memory of a gateway, about 30 MB. The attempts that stored nothing for the longest time are forgotten first. */
const MAX_FILES_KNOWN = 100_000;

export const attemptFiles = (): AttemptFiles => {
  const attempts = new LRUCache<string, AttemptEntry>({
    maxSize: MAX_FILES_KNOWN,
    sizeCalculation: ({ files }) => files.size + 1,
  });
  const nameOf = ({ org_id, run_id }: RunKey): string => `${org_id}.${run_id}`;
  const knownOf = (run: RunKey, attempt: number): AttemptEntry =>
    attempts.get(nameOf(run)) ?? { attempt, files: new Map() };
  const keep = (
    run: RunKey,
    { attempt, files }: AttemptEntry,
    path: string,
    file: FileEntry | undefined,
  ): void => {
    const changed = new Map(files);
    if (file) changed.set(path, file);
    else changed.delete(path);
    attempts.set(nameOf(run), { attempt, files: changed });
  };
  return {
    begin: (run, attempt, { path, bytes, key }, limits) => {
      const known = knownOf(run, attempt);
      if (known.attempt > attempt) return { kind: 'superseded' };
      const isLost = known.attempt < attempt;
      const entry: AttemptEntry = isLost ? { attempt, files: new Map() } : known;
      const others = [...entry.files].filter(([other]) => other !== path);
      if (others.length >= limits.files) return { kind: 'too_many_files' };
      const sum = others.reduce((all, [, file]) => all + file.bytes, bytes);
      if (sum > limits.bytes) return { kind: 'not_announced', bytes: sum };
      keep(run, entry, path, { bytes, key: entry.files.get(path)?.key ?? null, coming: key });
      const left = isLost ? [...known.files.values()].flatMap((file) => file.key ?? []) : [];
      return { kind: 'begun', left };
    },
    commit: (run, attempt, { path, bytes, key }) => {
      const known = knownOf(run, attempt);
      if (known.attempt !== attempt) return { kind: 'superseded' };
      const file = known.files.get(path);
      if (file && file.coming !== key) return { kind: 'superseded' };
      keep(run, known, path, { bytes, key, coming: null });
      return { kind: 'committed', replaced: file?.key ?? null };
    },
    release: (run, attempt, { path, key }) => {
      const known = knownOf(run, attempt);
      const file = known.attempt === attempt ? known.files.get(path) : undefined;
      if (file?.coming !== key) return;
      keep(run, known, path, file.key === null ? undefined : { ...file, coming: null });
    },
  };
};

const PART_BYTES = 16;

/** Where a file lies among the files of its attempt. */
interface FilePath {
  readonly subfolder: string;
  readonly filename: string;
}

export const pathOf = ({ subfolder, filename }: FilePath): string =>
  subfolder === '' ? filename : `${subfolder}/${filename}`;

/**
 * A new key for a file of an attempt: random, and a proof that the attempt with this token was given it for this file. So every
 * gateway recognises the files of an attempt, and none remembers them.
 */
export const newOutputKey = (token: string, file: FilePath): string => {
  const random = randomBytes(PART_BYTES);
  return Buffer.concat([random, proof(token, random, file)]).toString('base64url');
};

/** Whether the attempt with this token was given the key for this file. */
export const isOutputKeyOf = (
  token: string,
  { key, ...file }: FilePath & { readonly key: string },
): boolean => {
  const bytes = Buffer.from(key, 'base64url');
  if (bytes.byteLength !== 2 * PART_BYTES) return false;
  return timingSafeEqual(bytes.subarray(PART_BYTES), proof(token, bytes.subarray(0, PART_BYTES), file));
};

const proof = (token: string, random: Uint8Array, file: FilePath): Buffer =>
  createHmac('sha256', token).update(random).update(pathOf(file)).digest().subarray(0, PART_BYTES);
