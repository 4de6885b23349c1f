import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buffer } from 'node:stream/consumers';
import type { ReadableStream } from 'node:stream/web';
import type { Runner } from '@runledger/contracts/catalogue/runners';
import { counted } from '@runledger/contracts/events/fact-sentence';
import type { NewInputDefinition, WorkflowVersion } from '@runledger/contracts/http/catalogue/workflows';
import { at, failureOf, retryForAMinute, send } from '../api/api-call.ts';
import { deploymentSettingsOf, definedIn, type SettingMembers } from '../catalogue/deployment-settings.ts';
import { made, samePlan, withOrigin, type VersionPlan } from '../catalogue/plan-version.ts';
import type { Deployable, DeployOptions } from '../catalogue/workflow-file.ts';
import { versionsOf } from '../catalogue/workflows.ts';
import type { Client } from '../command/command-context.ts';
import { CommandError, plain } from '../command/command-error.ts';
import type { Screen } from '../command/screen.ts';
import type { GpuStep } from '../command/option-values.ts';
import { uploadBlob } from '../runs/files.ts';
import { contentsOf, packed, type Archive, type Contents } from './archive.ts';
import { changeLines, changesSince, isSame, type Compared } from './changes.ts';
import { nameFor, readFolderConfig, type FolderConfig, type FolderManifest } from './config.ts';
import { bytesOf, contentOf, filesOf, sizeOf, type FolderFile } from './folder-files.ts';
import { inputsOfFunction } from './signature.ts';

/** A folder with code, packed. `folder`: its absolute path. @throws CommandError */
export const deployedFolder = async (
  client: Client,
  folder: string,
  options: DeployOptions,
): Promise<Deployable> => {
  refuseOptionsOfFiles(options);
  const config = await readFolderConfig(folder);
  const { file, manifest } = config;
  const name = options.name ?? config.name;
  if (name === undefined)
    throw new CommandError(
      `${file} has no name for the deployment. Write name = "${nameFor(folder)}", or give one with --name.`,
    );
  const { files, inputs, archive } = await packedFolder(client.screen, folder, config);
  const size = `${counted(files.length, 'file')}, ${sizeOf(bytesOf(files))}, packed ${sizeOf(archive.bytes.byteLength)}`;
  const origin =
    config.inputs === undefined && manifest.run !== undefined
      ? `The definitions are from the signature of ${plain(manifest.run)}. Change it, or write [inputs] in ${file}.`
      : undefined;
  return {
    name,
    ...settingsOf(config, options),
    runner: options.machine === undefined ? { kind: 'code' } : undefined,
    checkKind,
    plan: (present) =>
      planCode(client, present, {
        folder,
        manifest,
        inputs,
        archive,
        size,
        origin,
        message: options.message,
      }),
    tell: () => undefined,
  };
};

/** Reads and packs what a folder has, and checks that what it names is in it. */
export const packedFolder = async (
  screen: Screen,
  folder: string,
  { file, manifest, inputs: written }: FolderConfig,
): Promise<{
  readonly files: readonly FolderFile[];
  readonly inputs: NewInputDefinition[];
  readonly archive: Archive;
}> => {
  const { files, leftOut } = await filesOf(folder);
  if (leftOut.length > 0)
    screen.hint(
      `Left out, since it may hold secrets: ${plain(leftOut.join(', '))}. Give values in [env] of ${file}, and secrets as secret inputs of runs.`,
    );
  const paths = new Set(files.map(({ path }) => path));
  if (paths.size === 0)
    throw new CommandError(
      'The folder has no files that are not ignored. See .gitignore and .runledgerignore.',
    );
  for (const [member, path] of namedFiles(manifest))
    await checkIsPacked(folder, paths, { file, member, path });
  const inputs = written ?? (await inputsOf(folder, manifest));
  const archive = await packed(folder, files);
  return { files, inputs, archive };
};

const refuseOptionsOfFiles = (options: DeployOptions): void => {
  const { program, cog, comfyui, inputs, randomSeeds } = options;
  const given = { program, cog, comfyui, inputs, 'random-seeds': randomSeeds };
  const [option] = Object.keys(definedIn(given));
  if (option === undefined) return;
  const shown = option === 'inputs' && inputs === false ? 'no-inputs' : option;
  throw new CommandError(
    `--${shown} is for a workflow file. A folder says in runledger.toml what is executed, and has its inputs from the function or from [inputs]. Leave the option out.`,
  );
};

const checkKind = (kind: Runner['kind']): void => {
  if (kind !== 'code')
    throw new CommandError(
      `The machine of --machine executes ${kind === 'comfyui' ? 'ComfyUI workflows' : `with the runner ${kind}`}, and not the code of folders. Leave --machine out, and the deployment gets one of its own.`,
    );
};

/** Options win over the file, and one of gpu and gpus over the other. */
const settingsOf = (
  { gpu, settings }: FolderConfig,
  options: DeployOptions,
): Pick<Deployable, 'gpu' | 'settings'> => {
  const given = definedIn(deploymentSettingsOf(options));
  const merged: Record<string, unknown> = { ...settings, ...given };
  for (const member of ['retry', 'bounds'])
    if (given[member] && settings[member])
      merged[member] = { ...Object(settings[member]), ...definedIn(given[member]) };
  // The machine has the one of --gpu, and a list of the file would win over it.
  if (options.gpu !== undefined && settings['gpus'] !== undefined && given['gpus'] === undefined)
    merged['gpus'] = [];
  const gpus = merged['gpus'] as readonly GpuStep[] | undefined;
  return {
    gpu: options.gpu ?? (given['gpus'] === undefined ? gpu : undefined),
    settings: { ...merged, gpus } satisfies SettingMembers,
  };
};

type NamedFile = readonly [member: string, path: string];

/** Files of the folder that the manifest names. */
const namedFiles = ({ run, command, requirements }: FolderManifest): NamedFile[] => [
  ...(run === undefined ? [] : [['run', functionIn(run).file] as const]),
  ...(requirements === undefined ? [] : [['requirements', requirements] as const]),
  ...(command?.[0]?.startsWith('./') ? [['command', command[0].slice(2)] as const] : []),
];

const functionIn = (run: string): { readonly file: string; readonly name: string } => {
  const at = run.lastIndexOf(':');
  return { file: run.slice(0, at), name: run.slice(at + 1) };
};

const checkIsPacked = async (
  folder: string,
  paths: ReadonlySet<string>,
  { file, member, path }: { readonly file: string; readonly member: string; readonly path: string },
): Promise<void> => {
  if (paths.has(path)) return;
  const isThere = await stat(join(folder, path)).then(
    () => true,
    () => false,
  );
  throw new CommandError(
    isThere
      ? `${file}: ${member} names ${plain(path)}, which is left out: a .gitignore or .runledgerignore file ignores it, or it is no file. Write !${plain(path)} into .runledgerignore, or name another file.`
      : `${file}: ${member} names ${plain(path)}, and there is no such file in the folder. Write the path of one, from the folder on.`,
  );
};

const inputsOf = async (folder: string, { run }: FolderManifest): Promise<NewInputDefinition[]> => {
  if (run === undefined) return [];
  const { file, name } = functionIn(run);
  if (!file.endsWith('.py')) return [];
  return inputsOfFunction({ file, name, source: String(await contentOf(folder, file)) });
};

interface Code {
  readonly folder: string;
  readonly manifest: FolderManifest;
  readonly inputs: NewInputDefinition[];
  readonly archive: Archive;
  /** For people. */
  readonly size: string;
  /** Where the definitions of inputs are from, if not from the file. */
  readonly origin: string | undefined;
  readonly message: string | undefined;
}

const planCode = async (
  client: Client,
  present: WorkflowVersion | undefined,
  { folder, manifest, inputs, archive, size, origin, message }: Code,
): Promise<VersionPlan> => {
  const { sha256, bytes, contents } = archive;
  const now: Compared = { contents, manifest, inputs };
  // Also of an equal archive: it may be lost, and then this one repairs it.
  const before = await contentsOfVersion(client, present);
  const changes = changesSince(present, before, now);
  const code = {
    sha256,
    bytes: bytes.byteLength,
    changes: { ...changes },
    lines: [...changeLines(changes), size],
  };
  if (present?.code && isSame(changes)) {
    if (message !== undefined)
      client.screen.hint('The version is there already, and keeps its message: nothing of it changed.');
    return {
      ...samePlan(present),
      code: { ...code, sha256: present.code.sha256, bytes: present.code.bytes },
    };
  }
  const workflow = { code_sha256: sha256, ...manifest };
  return {
    checked: { workflow, inputs },
    explained: withOrigin(origin),
    same: undefined,
    make: async (parentId, remember) => {
      const { id } = await uploadBlob(client, `${sha256}.tar.zst`, new Blob([bytes]));
      const body = { workflow, inputs, code: id, message, commit: await commitOf(folder) };
      return { item: await made(client, versionsOf(parentId), body, remember), outcome: 'new' };
    },
    code,
  };
};

/** The archive takes as long as its size. */
const ARCHIVE_WITHIN_MS = 600_000;

/** Empty for a version without code, and undefined when its archive is lost. @throws CommandError */
const contentsOfVersion = async (
  { connection, screen }: Client,
  version: WorkflowVersion | undefined,
): Promise<Contents | undefined> => {
  if (!version?.code) return new Map();
  const path = at`/workflows/${version.workflow_id}/versions/${version.id}/code`;
  try {
    const archive = await retryForAMinute(async () => {
      try {
        const signal = AbortSignal.timeout(ARCHIVE_WITHIN_MS);
        const { body } = await send(connection, { method: 'GET', path, headers: ANY }, { signal });
        return await buffer(body as ReadableStream);
      } catch (error) {
        throw failureOf(connection, error);
      }
    }, screen);
    if (createHash('sha256').update(archive).digest('hex') === version.code.sha256)
      return await contentsOf(archive);
    throw new CommandError(`The code of version ${version.number} arrived damaged. Try again.`);
  } catch (error) {
    if (error instanceof CommandError && error.refusal?.code === 'code_lost') return undefined;
    throw error;
  }
};

const ANY = { accept: '*/*' };

const git = promisify(execFile);

/** The commit of the folder, and whether it has other changes; undefined outside of git. */
const commitOf = async (folder: string): Promise<string | undefined> => {
  const options = { cwd: folder, maxBuffer: 64 * 1024 ** 2 };
  try {
    const { stdout: head } = await git('git', ['rev-parse', 'HEAD'], options);
    const status = ['--no-optional-locks', 'status', '--porcelain', '--', '.'];
    const { stdout: changes } = await git('git', status, options);
    return changes === '' ? head.trim() : `${head.trim()}+changes`;
  } catch {
    return undefined;
  }
};
