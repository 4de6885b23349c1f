import { createReadStream, createWriteStream } from 'node:fs';
import { copyFile, mkdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { contentTypeOf } from '@runledger/contracts/file-name';
import { readFileValue } from '@runledger/contracts/catalogue/workflow-inputs';
import type { CodeManifest } from '@runledger/contracts/catalogue/code';
import { newUuid } from '@runledger/contracts/ids';
import type { Logger } from '@runledger/event-log/connect/observability';
import type { Environment } from '@runledger/service-kit/config';
import { coldStartOf } from './attempt/end-of-attempt.decide.ts';
import { readCapabilities } from './capabilities.ts';
import { devicesForView } from './card-devices.ts';
import { readExecutorConfig } from './config.ts';
import { clearWorkFolder, openAttemptFolders } from './folders/work-folder.ts';
import { describeIsolation } from './isolation/isolation.ts';
import { openEgress } from './network/egress.ts';
import { openProcesses } from './open-processes.ts';
import { openRunners } from './runners/runner-registry.ts';
import type { OutputFile, RunnerWork, RunObserver, RunResult } from './runners/runner.ts';
import { fetchInputFiles } from './transfer/fetch-input-files.ts';
import { noPart, notFetched, type FetchedFile, type FileToFetch } from './transfer/input-file.ts';

export { WorkFolderInUse } from './folders/work-folder.ts';

/** The code of a folder, and what one run of it has. */
export interface LocalRun {
  readonly manifest: CodeManifest;
  /** Packed, as a version has it. */
  readonly archive: Uint8Array;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly fileInputs: readonly string[];
  readonly secretInputs: readonly string[];
  readonly inputTargets: RunnerWork['inputTargets'];
  /** The values of the variables in `secrets` of the manifest. */
  readonly secrets: RunnerWork['secrets'];
  /** The paths of weights that are files of this machine, by their SHA-256. */
  readonly models: ReadonlyMap<string, string>;
  /** The paths of files of this machine, by the ids that inputs have for them. */
  readonly files: ReadonlyMap<string, string>;
  /** Where output files go. It is made when there is one; a file of the same name is replaced. */
  readonly outputDir: string;
}

export interface LocalResult {
  readonly result: RunResult;
  /** The output files, in `outputDir`. */
  readonly files: readonly string[];
  /** How long it waited for what executes the code; null when it did not begin. */
  readonly coldStart: ReturnType<typeof coldStartOf> | null;
}

/** An executor without a log and a gateway, for the folders of who starts it. */
export interface LocalExecutor {
  /** What keeps the code from the machine, in a sentence for people; null where it is held as strongly as it can be. */
  readonly weakness: string | null;
  /** The card, such as `RTX4090`, or `CPU`. */
  readonly gpu: string;
  run(run: LocalRun, observe: Pick<RunObserver, 'log' | 'progress'>, stop: AbortSignal): Promise<LocalResult>;
}

/** It has one organisation, which all folders of its user belong to. */
const ORG_ID = '00000000-0000-7000-8000-000000000001';
const CPU = 'CPU:1';

/**
 * Opens what executes the code of folders on this machine: the same runners, preparing, isolation and limits as those of a service. `env` may have the
 * settings of an executor. What versions need stays in `workFolder`. `onCpu`: no card is wanted.
 * @throws {ConfigError} with all that is wrong with the settings
 * @throws {WorkFolderInUse} when another process uses the work folder
 */
export const openLocalExecutor = async (
  {
    env,
    workFolder,
    onCpu,
    log,
  }: {
    readonly env: Environment;
    readonly workFolder: string;
    readonly onCpu: boolean;
    readonly log: Logger;
  },
  open: AsyncDisposableStack,
): Promise<LocalExecutor> => {
  const read = readExecutorConfig({ ...env, EXECUTOR_CODE: 'all', EXECUTOR_WORK_DIR: workFolder });
  const { PATH, CUDA_VISIBLE_DEVICES, LD_LIBRARY_PATH } = read;
  const host = { PATH, CUDA_VISIBLE_DEVICES, LD_LIBRARY_PATH };
  const wanted = await readCapabilities(onCpu ? { ...read, EXECUTOR_GPUS: CPU } : read, host, log);
  const { slots, runners } =
    wanted.slots.length > 0 ? wanted : await readCapabilities({ ...read, EXECUTOR_GPUS: CPU }, host, log);
  const [slot] = slots;
  if (slot === undefined) throw new Error(`EXECUTOR_GPUS of ${CPU} has no slot`);
  if (slot.device !== '') devicesForView(PATH, log);
  // What the last programs had, which nobody waits for in a service.
  open.defer(async () => void (await clearWorkFolder(workFolder, log)));
  const egress = openEgress({ config: read, own: [], log }, open);
  const processes = await openProcesses(
    { config: read, name: 'local', env, log },
    { slots, runners, egress },
    open,
  );
  const runner = openRunners(runners, processes.host)({ kind: 'code' });
  if (runner === undefined) throw new Error('there is no runner for code');
  return {
    gpu: slot.gpu,
    weakness:
      processes.tried.isolation === 'strong' ? null : describeIsolation(processes.host.supervisors.isolation),
    run: async (run, observe, stop) => {
      await using folders = openAttemptFolders(processes.host.workFolder, log);
      const fetched = await fetchInputFiles(
        {
          maxBytes: read.EXECUTOR_INPUT_MAX_BYTES,
          fileInputs: run.fileInputs,
          fetchFile: (value, file) => localFile(run, value, file, egress.inputFiles.fetchUrl, stop),
        },
        run.inputs,
        folders,
      );
      const notBegun = { files: [], coldStart: null };
      if (fetched.kind === 'stopped')
        return { ...notBegun, result: { outcome: 'cancelled', forced: false, files: [] } };
      if (fetched.kind === 'refused')
        return { ...notBegun, result: { outcome: 'failed', error: fetched.error, files: [] } };
      let coldStart: LocalResult['coldStart'] = null;
      const { inputDir, outputDir } = folders;
      const work: RunnerWork = {
        org_id: ORG_ID,
        deployment_id: null,
        run_id: newUuid(),
        workflow: run.manifest,
        inputs: fetched.inputs,
        fileInputs: run.fileInputs,
        secretInputs: run.secretInputs,
        inputTargets: run.inputTargets,
        secrets: run.secrets,
        gpu: slot.gpu,
        attempt: 1,
        workflow_version_id: 'local',
        choice: run.manifest.comfyui ? { kind: 'code', server: 'comfyui' } : { kind: 'code' },
        slot,
        inputDir,
        outputDir,
        fetchCode: (path) => saved(run.archive, { path, filename: 'code', content_type: '' }),
        fetchKeptModel: (model, file) => localModel(run.models.get(model.sha256) ?? '', file),
        traceparent: null,
      };
      const result = await runner.run(
        work,
        {
          ...observe,
          masked: (text) => text,
          begin: async (loadingMs, _code, _environment, prepared = null) => {
            coldStart = coldStartOf(loadingMs, prepared);
            return !stop.aborted;
          },
        },
        stop,
      );
      const files = result.outcome === 'not_runnable' ? [] : await kept(result.files, run.outputDir);
      return { result, files, coldStart };
    },
  };
};

const saved = async (
  bytes: Uint8Array,
  { path, ...named }: { readonly path: string; readonly filename: string; readonly content_type: string },
): Promise<FetchedFile> => {
  await writeFile(path, bytes);
  return { kind: 'fetched', bytes: bytes.byteLength, ...named };
};

/** It is read once more, so that a change since it was hashed is noticed. */
const localModel = async (path: string, file: FileToFetch): Promise<FetchedFile> => {
  const part = file.part ?? noPart();
  Object.assign(part, noPart());
  const counted = async function* (pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      part.hash.update(piece);
      part.bytes += piece.byteLength;
      yield piece;
    }
  };
  await pipeline(createReadStream(path), counted, createWriteStream(file.path));
  return { kind: 'fetched', bytes: part.bytes, filename: basename(path), content_type: '' };
};

/** What a value names: a file of this machine, a URL, or the data itself. */
const localFile = async (
  { files }: LocalRun,
  value: unknown,
  file: FileToFetch,
  fetchUrl: (url: string, file: FileToFetch, stop: AbortSignal) => Promise<FetchedFile>,
  stop: AbortSignal,
): Promise<FetchedFile> => {
  const named = readFileValue(value);
  switch (named?.kind) {
    case 'url':
      return fetchUrl(named.url, file, stop);
    case 'data': {
      const bytes = await bytesOfData(String(value));
      if (bytes === null) return notFetched(file, 'its data URL cannot be read.', false);
      return saved(bytes, { path: file.path, filename: '', content_type: named.content_type });
    }
    case 'id': {
      const path = files.get(named.id);
      if (path === undefined)
        return notFetched(file, 'a local run has no uploaded files: name one with @PATH.', false);
      await copyFile(path, file.path);
      const { size } = await stat(file.path);
      return { kind: 'fetched', bytes: size, filename: basename(path), content_type: contentTypeOf(path) };
    }
    case undefined:
      return notFetched(file, 'the value of the input names none.', false);
  }
};

const bytesOfData = async (url: string): Promise<Uint8Array | null> => {
  try {
    const response = await fetch(url);
    return await response.bytes();
  } catch {
    return null;
  }
};

/** Copies the files to where they stay. */
const kept = async (files: readonly OutputFile[], outputDir: string): Promise<string[]> => {
  const paths: string[] = [];
  for (const { path, subfolder, filename } of files) {
    const to = join(outputDir, subfolder, filename);
    await mkdir(dirname(to), { recursive: true });
    await copyFile(path, to);
    paths.push(to);
  }
  return paths;
};
