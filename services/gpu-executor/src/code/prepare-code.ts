import { createHash, randomUUID } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { CodeManifest } from '@runledger/contracts/catalogue/code';
import { sha256OfFile } from '../folders/file-hash.ts';
import { removeTree } from '../folders/remove-tree.ts';
import type { ProcessHost } from '../runners/runner-type.ts';
import { liveStatus, type Preparing, type RunObserver, type RunnerWork } from '../runners/runner.ts';
import {
  prepareEnvironment,
  type Environment,
  type EnvironmentRun,
  type EnvironmentSettings,
} from './environment.ts';
import { prepareNodes } from './custom-nodes.ts';
import { prepareComfyuiEnvironment, type ComfyuiInstallation } from './comfyui-environment.ts';
import { COMFYUI_LAUNCHER, harnessFiles, type Harness } from './function-harness.ts';
import { prepareModels } from './models.ts';
import type { FetchUrl } from '../transfer/fetch-url.ts';
import { failed, type HeldFolder, type NotPrepared, type PreparedFolders } from './prepared-folders.ts';
import { unpackCode } from './unpack-code.ts';

/** All that a version is executed with. Nothing of it is removed until it is disposed of. */
export interface PreparedVersion extends Disposable {
  readonly kind: 'prepared_version';
  readonly manifest: CodeManifest;
  readonly environment: Environment;
  /** What calls its function, or starts ComfyUI; null for a command. */
  readonly harness: { readonly folder: string; readonly command: readonly string[] } | null;
  /** Null without weights. */
  readonly models: string | null;
  /** The folders of its custom nodes, by their names. */
  readonly nodes: ReadonlyMap<string, string>;
  /** How long this run waited for it; null when all of it was there. */
  readonly preparing: Preparing | null;
  /** All folders that are in use. */
  readonly folders: readonly string[];
}

export interface PrepareHost extends ProcessHost {
  /** For files on their way. */
  readonly workFolder: string;
  readonly folders: PreparedFolders;
  readonly environments: EnvironmentSettings;
  readonly fetchModel: FetchUrl;
  /** Null where the machine has none. */
  readonly comfyui: ComfyuiInstallation | null;
}

/** Of what a version is prepared. */
export type VersionToPrepare = Pick<RunnerWork, 'org_id' | 'fetchCode' | 'fetchKeptModel' | 'secrets'>;

/** Fetches the code of a version, and makes all that its manifest names. Other runs of it wait meanwhile, and find it afterwards. */
export const prepareVersion = async (
  host: PrepareHost,
  manifest: CodeManifest,
  { org_id, fetchCode, fetchKeptModel, secrets }: VersionToPrepare,
  observe: Pick<RunObserver, 'progress' | 'log'>,
  stop: AbortSignal,
): Promise<PreparedVersion | NotPrepared> => {
  const { folders } = host;
  let isShown = false;
  const onStep = (step: string, isLogged = true): void => {
    isShown = true;
    observe.progress({ progress: 0, live_status: liveStatus(`preparing: ${step}`) });
    if (isLogged) observe.log({ stream: 'runner', line: `preparing: ${step}` });
  };
  const onLine = (line: string): void => observe.log({ stream: 'runner', line });
  using stack = new DisposableStack();
  const timed = stopwatch();
  const code = await codeOf(host, manifest, { org_id, fetchCode, onStep, stop });
  if (code.kind !== 'prepared') return code;
  stack.use(code);
  const fetchMs = timed(code);
  const run = { org_id, manifest, folders, fetchKeptModel, secrets, onStep, onLine, stop };
  const { comfyui } = manifest;
  const nodes = comfyui === undefined ? null : await prepareNodes(host, { ...run, comfyui, code: code.path });
  if (nodes !== null && nodes.kind !== 'prepared') return nodes;
  if (nodes !== null) stack.use(nodes);
  const nodesMs = nodes === null ? 0 : timed(nodes);
  const environment = await environmentFor(host, { ...run, code: code.path }, nodes?.nodes ?? null);
  if ('kind' in environment) return environment;
  stack.use(environment);
  const environmentMs = timed(environment);
  const models =
    Object.keys(manifest.models ?? {}).length === 0
      ? null
      : await prepareModels(host.fetchModel, { ...run, secrets });
  if (models !== null && models.kind !== 'prepared') return models;
  if (models !== null) stack.use(models);
  const weightsMs = models === null ? 0 : timed(models);
  const files =
    comfyui !== undefined ? COMFYUI_LAUNCHER : manifest.run === undefined ? null : harnessFiles(manifest.run);
  const harness = files === null ? null : await writeHarness(files, run);
  if (harness !== null && 'kind' in harness) return harness;
  if (harness !== null) stack.use(harness.held);
  if (isShown) observe.progress({ progress: 0, live_status: null });
  const wasThere = [code, nodes, environment, models, harness?.held].every(
    (each) => each?.wasThere !== false,
  );
  const used = [
    code.path,
    environment.folder,
    harness?.folder,
    ...(models?.folders ?? []),
    ...(nodes?.folders ?? []),
  ];
  const held = stack.move();
  return {
    kind: 'prepared_version',
    manifest,
    environment,
    harness,
    models: models?.path ?? null,
    nodes: nodes?.nodes ?? new Map(),
    preparing: wasThere ? null : { fetchMs: fetchMs + nodesMs, environmentMs, weightsMs },
    folders: used.filter((each) => typeof each === 'string'),
    [Symbol.dispose]: () => held.dispose(),
  };
};

const environmentFor = (
  host: PrepareHost,
  run: EnvironmentRun,
  nodes: ReadonlyMap<string, string> | null,
): Promise<Environment | NotPrepared> => {
  const { comfyui, environments, folders } = host;
  if (nodes === null) return prepareEnvironment(host, environments, folders, run);
  if (comfyui === null) return Promise.resolve(failed(NO_COMFYUI));
  return prepareComfyuiEnvironment(host, environments, folders, comfyui, { ...run, nodes });
};

const NO_COMFYUI =
  'The executor has no ComfyUI for the workflows of folders. Its operator can name one in EXECUTOR_COMFYUI_FOLDER.';

/** Milliseconds since the call before, for what was not there. */
const stopwatch = (): ((made: { readonly wasThere: boolean }) => number) => {
  let last = performance.now();
  return ({ wasThere }) => {
    const [since, now] = [last, performance.now()];
    last = now;
    return wasThere ? 0 : now - since;
  };
};

interface CodeRun extends Pick<RunnerWork, 'org_id' | 'fetchCode'> {
  readonly onStep: (step: string) => void;
  readonly stop: AbortSignal;
}

const codeOf = (
  { workFolder, folders, log }: PrepareHost,
  { code_sha256 }: CodeManifest,
  { org_id, fetchCode, onStep, stop }: CodeRun,
): Promise<HeldFolder | NotPrepared> =>
  folders.use(
    { org_id, of: 'code', key: code_sha256 },
    async (folder) => {
      onStep('fetching the code');
      await using left = new AsyncDisposableStack();
      // A start removes what begins so.
      const archive = join(workFolder, `tmp-code-${randomUUID()}`);
      left.defer(() => removeTree(archive, log));
      const fetched = await fetchCode(archive, stop);
      if (fetched.kind === 'stopped') return fetched;
      if (fetched.kind === 'refused') return { kind: 'failed', error: fetched.error };
      const found = await sha256OfFile(archive);
      if (found !== code_sha256)
        return failed(
          `The code of the version is not what its manifest says: its SHA-256 should be ${code_sha256} and is ${found}. Deploy the version again.`,
        );
      const refused = await unpackCode(archive, folder, stop);
      if (stop.aborted) return { kind: 'stopped' };
      return refused === null ? null : failed(refused);
    },
    stop,
  );

const writeHarness = async (
  { files, command }: Harness,
  {
    org_id,
    folders,
    stop,
  }: { readonly org_id: string; readonly folders: PreparedFolders; readonly stop: AbortSignal },
): Promise<(NonNullable<PreparedVersion['harness']> & { readonly held: HeldFolder }) | NotPrepared> => {
  const key = createHash('sha256').update(JSON.stringify(files)).digest('hex');
  const held = await folders.use(
    { org_id, of: 'harnesses', key },
    async (folder) => {
      for (const [name, text] of Object.entries(files)) {
        const path = join(folder, name);
        await mkdir(dirname(path), { recursive: true, mode: 0o755 });
        await writeFile(path, text);
        await chmod(path, 0o644);
      }
      return null;
    },
    stop,
  );
  if (held.kind !== 'prepared') return held;
  return { folder: held.path, command: command.map((each) => each.replaceAll('{harness}', held.path)), held };
};
