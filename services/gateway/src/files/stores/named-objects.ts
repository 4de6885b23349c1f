import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { listObjects } from '@runledger/event-log/read/read-pages';
import { OutputStoreUnavailable } from '../output-store.ts';
import { jetstreamFiles, type ObjectBucket } from './jetstream-output-store.ts';
import { namesIn, orAbsent, placeWhole, removeIncomplete, writtenAt } from './whole-files.ts';

export interface ListedObject {
  readonly name: string;
  /** By the clock of the store: milliseconds since 1970. */
  readonly storedMs: number;
}

/** Small objects that are stored, and replaced, in one step. Every method throws what its store throws. */
export interface NamedObjects {
  readonly put: (name: string, body: Buffer, content_type?: string) => Promise<void>;
  readonly get: (name: string) => Promise<Buffer | undefined>;
  /** No error when there is none. */
  readonly remove: (name: string) => Promise<void>;
  /** Some at a time, and perhaps some whose names begin otherwise. Of a bucket in the order of their names, and `most` in one list: as many as the store gives when it is left out. */
  readonly list: (begin: string, most?: number) => AsyncGenerator<readonly ListedObject[]>;
  /** Where an operator finds it. */
  readonly placeOf: (name: string) => string;
}

/** The driver stores an object in one step, and cuts it where it is larger than a message. */
export const brokerObjects = (log: EventLog, about: ObjectBucket): NamedObjects => {
  const store = jetstreamFiles(log, about);
  const get = async (key: string, tries = 3): Promise<Buffer | undefined> => {
    const found = await store.find(key);
    if (!found) return undefined;
    try {
      return Buffer.concat(await Array.fromAsync(store.read(found, { first: 0, last: found.bytes - 1 })));
    } catch (error) {
      // Its chunks go when it is replaced, also while it is read.
      if (!(error instanceof OutputStoreUnavailable) || tries === 1) throw error;
      return get(key, tries - 1);
    }
  };
  return {
    put: async (key, bytes, content_type = 'application/octet-stream') => {
      await store.put({ key, filename: key, content_type }, ReadableStream.from([bytes]));
    },
    get: (key) => get(key),
    remove: async (key) => void (await store.remove(key)),
    list: () => listObjects(log, about.bucket),
    placeOf: (key) => `${key} in the object store ${about.bucket} of the broker`,
  };
};

/**
 * Names are `<folder>/<name>`. A file is `<root>/<folder>/<the last two characters of its name>/<name>`: thousands of files in one folder
 * are slow on some file systems.
 */
export const directoryObjects = (root: string, now: () => Date): NamedObjects => {
  const pathOf = (name: string): [folder: string, part: string, file: string] => {
    const [folder = '', file = ''] = name.split('/');
    return [folder, file.slice(-2), file];
  };
  const placeOf = (name: string): string => join(root, ...pathOf(name));
  return {
    put: (name, bytes) =>
      placeWhole(root, pathOf(name), (file) => writeFile(file, bytes, { flag: 'wx', flush: true })),
    get: (name) => orAbsent(root, undefined, () => readFile(placeOf(name))),
    remove: (name) => orAbsent(root, undefined, () => rm(placeOf(name))),
    list: async function* (begin) {
      for (const folder of (await namesIn(root)).filter((name) => `${name}/`.startsWith(begin)))
        for (const part of await namesIn(root, folder))
          yield await Promise.all(
            (await namesIn(root, folder, part)).map(async (file) => {
              // Removed meanwhile, it is as old as can be.
              const storedMs = (await writtenAt(root, folder, part, file)) ?? 0;
              return { name: `${folder}/${file}`, storedMs };
            }),
          );
      await removeIncomplete(root, now().getTime());
    },
    placeOf,
  };
};
