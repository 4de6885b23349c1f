import type { Logger } from '@runledger/event-log/connect/observability';
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { namedFiles, readFileValue } from '@runledger/contracts/catalogue/workflow-inputs';
import {
  fetchAssigned,
  type FetchedAssignment,
  type FetchOptions,
  type FetchSettings,
  type NotFetched,
} from './fetch-assigned.ts';
import type { Assignment } from '../attempt/assignment.decide.ts';
import { openAttemptGateway, type AttemptGateway } from './attempt-gateway.ts';
import { fetchStored } from './fetch-stored.ts';
import { inputFile, inputNames, notFetched, type FetchedFile, type FileToFetch } from './input-file.ts';
import type { FetchUrl } from './fetch-url.ts';

type Inputs = Readonly<Record<string, unknown>>;

export interface InputFileSettings {
  readonly log: Logger;
  readonly fetchUrl: FetchUrl;
  /** Of all files of a run. */
  readonly maxBytes: number;
}

export interface InputFolders {
  /** Makes the folder where the files go. */
  readonly makeInputDir: () => Promise<string>;
  /** Makes a folder on the same disk: a file on its way has no name that a runner could find. */
  readonly makePrivateDir: () => Promise<string>;
}

interface FilesOfInputs {
  /** Of all of them. */
  readonly maxBytes: number;
  /** The names of the inputs that are files. */
  readonly fileInputs: readonly string[];
  /** Fetches what a value names. */
  readonly fetchFile: (value: unknown, file: FileToFetch) => Promise<FetchedFile>;
}

type FetchedInputs = { readonly kind: 'fetched'; readonly inputs: Inputs } | NotFetched;

/** What an assignment names, with the files of its inputs. */
export const fetchWithFiles = async (
  settings: FetchSettings & InputFileSettings,
  assignment: Assignment,
  folders: InputFolders,
  options: FetchOptions,
): Promise<FetchedAssignment> => {
  const fetched = await fetchAssigned(settings, assignment, options);
  if (fetched.kind !== 'fetched' || assignment.event.data.file_inputs === undefined) return fetched;
  const gateway = openAttemptGateway(settings, assignment);
  const files = await fetchInputFiles(
    {
      maxBytes: settings.maxBytes,
      fileInputs: assignment.event.data.file_inputs,
      fetchFile: (value, file) => fetchFile(settings, gateway, value, file, options),
    },
    fetched.inputs,
    folders,
  );
  return files.kind === 'fetched' ? { ...fetched, inputs: files.inputs } : files;
};

/**
 * Fetches the files of a run's inputs, one after the other. Each of these inputs then is the name of its file in the input folder. One that is
 * a list has a folder of its own there, and is the list of the names with this folder before them, in its order.
 */
export const fetchInputFiles = async (
  { maxBytes, fileInputs, fetchFile }: FilesOfInputs,
  inputs: Inputs,
  { makeInputDir, makePrivateDir }: InputFolders,
): Promise<FetchedInputs> => {
  const nameOf = inputNames();
  const named: [string, string | string[]][] = [];
  let left = maxBytes;
  const inputDir = await makeInputDir();
  const incoming = join(await makePrivateDir(), 'incoming');
  for (const input of fileInputs) {
    const value = inputs[input];
    const folder = Array.isArray(value) ? `${nameOf(input, '')}/` : '';
    const nameInFolder = folder === '' ? nameOf : inputNames();
    await mkdir(join(inputDir, folder), { recursive: true, mode: 0o700 });
    const names: string[] = [];
    for (const [index, each] of namedFiles(value).entries()) {
      const title = folder === '' ? input : `${input}[${index}]`;
      const file = inputFile(title, incoming, left);
      const fetched = await fetchFile(each, file);
      if (fetched.kind !== 'fetched') return fetched;
      left -= fetched.bytes;
      const name = `${folder}${nameInFolder(fetched.filename, fetched.content_type)}`;
      await rename(incoming, join(inputDir, name));
      names.push(name);
    }
    named.push([input, folder === '' ? (names[0] ?? '') : names]);
  }
  // Entries, because `__proto__` is an ordinary name.
  return { kind: 'fetched', inputs: Object.fromEntries([...Object.entries(inputs), ...named]) };
};

const fetchFile = async (
  settings: InputFileSettings,
  gateway: AttemptGateway,
  value: unknown,
  file: FileToFetch,
  options: FetchOptions,
): Promise<FetchedFile> => {
  const named = readFileValue(value);
  switch (named?.kind) {
    case 'id':
      return fetchStored(settings, gateway, { ...file, name: `files/${named.id}` }, options);
    case 'url':
      return settings.fetchUrl(named.url, file, options.stop);
    case 'data':
    case undefined:
      // The gateway accepts no such run: it makes a file of a data URL.
      return notFetched(file, 'the value of the input names none.', false);
  }
};
