import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buffer } from 'node:stream/consumers';
import type { ReadableStream } from 'node:stream/web';
import type { ComfyuiManifest } from '@runledger/contracts/catalogue/code';
import type { Runner } from '@runledger/contracts/catalogue/runners';
import { SecretList } from '@runledger/contracts/http/catalogue/secrets';
import { counted } from '@runledger/contracts/events/fact-sentence';
import type { NewInputDefinition, WorkflowVersion } from '@runledger/contracts/http/catalogue/workflows';
import { isJsonObject, type JsonObject } from '@runledger/contracts/json';
import { at, failureOf, retryForAMinute, send } from '../api/api-call.ts';
import { deploymentSettingsOf, definedIn, type SettingMembers } from '../catalogue/deployment-settings.ts';
import { checkPrompt } from '../catalogue/plan-machine.ts';
import { made, randomSeeds, samePlan, withOrigin, type VersionPlan } from '../catalogue/plan-version.ts';
import { tellFixedSeeds, type Deployable, type DeployOptions } from '../catalogue/workflow-file.ts';
import { versionsOf } from '../catalogue/workflows.ts';
import type { Client } from '../command/command-context.ts';
import { CommandError, plain } from '../command/command-error.ts';
import type { GpuStep } from '../command/option-values.ts';
import { uploadBlob } from '../runs/files.ts';
import { contentsOf, packed, type Archive, type Contents } from './archive.ts';
import { changeLines, changesSince, isSame, type Compared } from './changes.ts';
import {
  nameFor,
  readFolderConfig,
  type FolderComfyui,
  type FolderConfig,
  type FolderManifest,
} from './config.ts';
import { bytesOf, contentOf, filesOf, sizeOf, type FolderFile } from './folder-files.ts';
import { localModels, missingModels, pathsIn, sendModel, type LocalModel } from './local-models.ts';
import { inputsOfFunction } from './signature.ts';

/** A folder with code, packed. `folder`: its absolute path. @throws CommandError */
export const deployedFolder = async (
  client: Client,
  folder: string,
  options: DeployOptions,
): Promise<Deployable> => {
  refuseOptionsOfFiles(options);
  const config = await readFolderConfig(folder);
  const { file, comfyui } = config;
  const name = options.name ?? config.name;
  if (name === undefined)
    throw new CommandError(
      `${file} has no name for the deployment. Write name = "${nameFor(folder)}", or give one with --name.`,
    );
  const { files, manifest, prompt, inputs, archive, weights } = await packedFolder(client, folder, config);
  const size = `${counted(files.length, 'file')}, ${sizeOf(bytesOf(files))}, packed ${sizeOf(archive.bytes.byteLength)}`;
  const origin =
    config.inputs === undefined && manifest.run !== undefined
      ? `The definitions are from the signature of ${plain(manifest.run)}. Change it, or write [inputs] in ${file}.`
      : undefined;
  await warnOfSecrets(client, manifest);
  return {
    name,
    ...settingsOf(config, options),
    runner:
      options.machine === undefined ? { kind: 'code', ...(comfyui && { server: 'comfyui' }) } : undefined,
    checkRunner: (runner) => checkRunner(runner, comfyui === undefined ? undefined : 'comfyui'),
    plan: (present) =>
      planCode(client, present, {
        folder,
        manifest,
        inputs,
        archive,
        weights,
        size,
        origin,
        message: options.message,
      }),
    tell: (_machine, version) => {
      if (prompt) tellFixedSeeds(client, prompt, version.inputs, 'random_seeds = true in [comfyui]');
    },
  };
};

/** They may be set after the version is made, and before its first run. */
const warnOfSecrets = async ({ call, screen }: Client, { secrets = {} }: FolderManifest): Promise<void> => {
  const wanted = new Set(Object.values(secrets));
  if (wanted.size === 0) return;
  const known = await call(SecretList, { method: 'GET', path: '/secrets' });
  for (const { name } of known.secrets) wanted.delete(name);
  for (const name of wanted)
    screen.hint(
      `The organisation has no secret ${name} yet, and runs fail without it. Set it: runledger secrets set ${name}`,
    );
};

/** What is used of a client before anything is sent. */
export type FolderReader = Pick<Client, 'screen' | 'readJsonFile' | 'cacheFolder'>;

/** A folder as it is executed. */
export interface PackedFolder {
  readonly files: readonly FolderFile[];
  readonly manifest: FolderManifest;
  /** Of ComfyUI. */
  readonly prompt: JsonObject | undefined;
  readonly inputs: NewInputDefinition[];
  readonly archive: Archive;
  readonly weights: readonly LocalModel[];
}

/** Reads and packs what a folder has, and checks that what it names is in it. @throws CommandError */
export const packedFolder = async (
  reader: FolderReader,
  folder: string,
  config: FolderConfig,
): Promise<PackedFolder> => {
  const { file, comfyui } = config;
  const weights = await localModels(reader, folder, { configFile: file, models: config.localModels });
  const { files, leftOut } = await filesOf(folder, await pathsIn(folder, weights));
  if (leftOut.length > 0)
    reader.screen.hint(
      `Left out, since it may hold secrets: ${plain(leftOut.join(', '))}. Give values in [env] of ${file}, and secrets in [secrets], by their names.`,
    );
  const paths = new Set(files.map(({ path }) => path));
  if (paths.size === 0)
    throw new CommandError(
      'The folder has no files that are not ignored. See .gitignore and .runledgerignore.',
    );
  for (const [member, path] of namedFiles(config)) await checkIsPacked(folder, paths, { file, member, path });
  for (const [member, path] of namedFolders(comfyui)) checkHasFiles(paths, { file, member, path });
  const prompt = comfyui && (await promptOf(reader, folder, { file, path: comfyui.workflow }));
  const manifest = {
    ...withModels(config.manifest, weights),
    ...(comfyui && prompt && { comfyui: { workflow: prompt, ...nodesOf(comfyui) } }),
  };
  const inputs = config.inputs ?? (await inputsOf(folder, manifest));
  if (comfyui?.random_seeds === true && prompt) inputs.push(...randomSeeds(prompt, inputs));
  return { files, manifest, prompt, inputs, archive: await packed(folder, files), weights };
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

const checkRunner = (runner: Runner, server: 'comfyui' | undefined): void => {
  const { kind } = runner;
  if (kind === 'code' && (runner.server ?? undefined) !== server)
    throw new CommandError(
      `The machine of --machine executes ${server === undefined ? 'the ComfyUI workflows of folders, and this folder has other code' : 'the code of folders, and this folder has a ComfyUI workflow'}. Leave --machine out, and the deployment gets one of its own.`,
    );
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

/** Those of this machine as the service keeps them. */
const withModels = (manifest: FolderManifest, weights: readonly LocalModel[]): FolderManifest => {
  if (weights.length === 0) return manifest;
  const kept = weights.map(({ name, sha256, bytes }) => [name, { sha256, bytes }] as const);
  return { ...manifest, models: { ...manifest.models, ...Object.fromEntries(kept) } };
};

type NamedFile = readonly [member: string, path: string];

/** Files of the folder that its file names. */
const namedFiles = ({
  manifest: { run, command, requirements },
  comfyui,
}: Pick<FolderConfig, 'manifest' | 'comfyui'>): NamedFile[] => [
  ...(comfyui === undefined ? [] : [['comfyui.workflow', comfyui.workflow] as const]),
  ...(run === undefined ? [] : [['run', functionIn(run).file] as const]),
  ...(requirements === undefined ? [] : [['requirements', requirements] as const]),
  ...(command?.[0]?.startsWith('./') ? [['command', command[0].slice(2)] as const] : []),
];

const namedFolders = (comfyui: FolderComfyui | undefined): NamedFile[] =>
  Object.entries(comfyui?.custom_nodes ?? {}).flatMap(([node, from]) =>
    'path' in from ? [[`comfyui.custom_nodes.${node}`, from.path] as const] : [],
  );

const checkHasFiles = (
  paths: ReadonlySet<string>,
  { file, member, path }: { readonly file: string; readonly member: string; readonly path: string },
): void => {
  if ([...paths].some((each) => each.startsWith(`${path}/`))) return;
  throw new CommandError(
    `${file}: ${member} names ${plain(path)}, and the folder has no files below it that are not ignored. Write the path of a folder with custom nodes, from the folder on.`,
  );
};

/** @throws CommandError */
const promptOf = async (
  { readJsonFile }: FolderReader,
  folder: string,
  { file, path }: { readonly file: string; readonly path: string },
): Promise<JsonObject> => {
  const workflow = await readJsonFile(`${file}: comfyui.workflow`, join(folder, path));
  checkPrompt(workflow, plain(path));
  if (isJsonObject(workflow)) return workflow;
  throw new CommandError(`${plain(path)} is no JSON object.`);
};

const nodesOf = ({ custom_nodes }: FolderComfyui): Omit<ComfyuiManifest, 'workflow'> =>
  custom_nodes === undefined ? {} : { custom_nodes };

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
  readonly weights: readonly LocalModel[];
  /** For people. */
  readonly size: string;
  /** Where the definitions of inputs are from, if not from the file. */
  readonly origin: string | undefined;
  readonly message: string | undefined;
}

const planCode = async (
  client: Client,
  present: WorkflowVersion | undefined,
  { folder, manifest, inputs, archive, weights, size, origin, message }: Code,
): Promise<VersionPlan> => {
  const { sha256, bytes, contents } = archive;
  const now: Compared = { contents, manifest, inputs };
  // Also of an equal archive: it may be lost, and then this one repairs it.
  const before = await contentsOfVersion(client, present);
  const changes = changesSince(present, before, now);
  const missing = await missingModels(client, weights);
  const code = {
    sha256,
    bytes: bytes.byteLength,
    changes: { ...changes },
    lines: [
      ...changeLines(changes),
      ...missing.map((each) => `Model to send: ${plain(each.name)}, ${sizeOf(each.bytes)}`),
      size,
    ],
  };
  // One that is lost is repaired by the next version.
  if (present?.code && isSame(changes) && missing.length === 0) {
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
      for (const model of missing) await sendModel(client, model);
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
