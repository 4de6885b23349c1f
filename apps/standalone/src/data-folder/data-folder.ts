import { chmod, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, messageOf } from '@runledger/resilience/errors';
import { takeLock } from './folder-lock.ts';
import type { Holder } from './folder-lock.ts';
import { writePrivateFile } from './write-file.ts';

/** The version of the folder's layout. It increases when earlier releases would misread the folder. */
const FORMAT = 1;

/** The folder with everything that a standalone stores. One process at a time holds it. */
export interface DataFolder extends AsyncDisposable {
  readonly path: string;
  /** The absolute path of a file or folder inside. */
  readonly at: (name: string) => string;
  /** Lets a second start show where this one listens. */
  readonly publishUrl: (url: string) => Promise<void>;
}

export type OpenedFolder =
  | { readonly ok: true; readonly folder: DataFolder }
  /** `why` is for the person at the terminal. */
  | { readonly ok: false; readonly why: string };

const CHOOSE_ANOTHER = 'choose another folder with RUNLEDGER_DATA_DIR';

/** Creates the folder if it does not exist, and holds it until dispose. `path` is absolute. */
export const openDataFolder = async (path: string, now: () => Date): Promise<OpenedFolder> => {
  const at = (name: string): string => join(path, name);
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await chmod(path, 0o700);
    const locked = await takeLock({ lock: at('lock.db'), holder: at('holder.json') }, now);
    if (locked.kind === 'held') return { ok: false, why: heldByMessage(path, locked.by) };
    const { lock } = locked;
    const wrong = await checkFormat(path);
    if (wrong !== undefined) {
      await lock[Symbol.asyncDispose]();
      return { ok: false, why: wrong };
    }
    const { publishUrl } = lock;
    return {
      ok: true,
      folder: { path, at, publishUrl, [Symbol.asyncDispose]: () => lock[Symbol.asyncDispose]() },
    };
  } catch (error) {
    const why = messageOf(error);
    return {
      ok: false,
      why: `The data folder ${path} cannot be used: ${why}. Make it writable, or ${CHOOSE_ANOTHER}.`,
    };
  }
};

const heldByMessage = (path: string, by: Holder | undefined): string => {
  const serves = by?.url === undefined ? '' : ` and serves ${by.url}`;
  const holder = by
    ? `process ${by.pid} has held it since ${by.since}${serves}`
    : 'another process has just taken it';
  const how = by ? ` (kill ${by.pid})` : '';
  return `The data folder ${path} is in use: ${holder}. Use that one, stop it first${how}, or ${CHOOSE_ANOTHER}.`;
};

const checkFormat = async (path: string): Promise<string | undefined> => {
  const file = join(path, 'format');
  const found = await readFormat(file);
  if (found === undefined) {
    await writePrivateFile(file, `${FORMAT}\n`);
    return undefined;
  }
  if (found === String(FORMAT)) return undefined;
  if (!/^[1-9]\d{0,5}$/.test(found))
    return `The data folder ${path} is invalid: its file "format" holds no number. Restore it, or ${CHOOSE_ANOTHER}.`;
  return (
    `The data folder ${path} has format ${found}, and this release of Runledger knows format ${FORMAT}: ` +
    `a newer release wrote it. Start that release, or ${CHOOSE_ANOTHER}.`
  );
};

const readFormat = async (file: string): Promise<string | undefined> => {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
};
