import { createHmac, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';
import { CodeManifest, variableProblems } from '@runledger/contracts/catalogue/code';
import { errorOf } from '@runledger/contracts/events/run-error';
import { LRUCache } from 'lru-cache';
import { Value } from 'typebox/value';
import { prepareVersion, type PrepareHost, type PreparedVersion } from '../../code/prepare-code.ts';
import type { NotPrepared } from '../../code/prepared-folders.ts';
import { findTool } from '../../code/python.ts';
import { isOfSystem } from '../../isolation/hidden-paths.ts';
import { programView } from '../../view/program-view.ts';
import { realPath } from '../../view/real-paths.ts';
import { whyNotExecutable, type OperatorCommand } from '../operator-command.ts';
import { runProgram, type NamedProgram } from '../program/program-runner.ts';
import { runResident, type NamedResident, type ResidentRunner } from '../program/resident-runner.ts';
import type { OpenRunner, RunnerHost } from '../runner-type.ts';
import type { Runner, RunnerWork, RunObserver, RunResult } from '../runner.ts';
import { comfyuiVersionRunner, whyNoComfyui } from './comfyui-version.ts';

interface CodeHost extends RunnerHost, PrepareHost {
  /** How long a ComfyUI that executes a run may give no sign of it. */
  readonly silenceMs: number;
}

/** Executes the code that comes with a version: prepares it, and then runs it as a program, or a ComfyUI with it. */
export const codeRunner = (host: CodeHost): Runner & Pick<OpenRunner, 'keep' | 'prepared'> => {
  /** By what they start. One that is forgotten is ended by the next process of its slot. */
  const residents = new LRUCache<string, ResidentRunner>({ max: MOST_RESIDENTS });
  /** What each version needs, those that were used last. */
  const versions = new LRUCache<string, readonly string[]>({ max: MOST_PREPARED });
  /** What is compared of secrets. It is worth nothing outside of this process. */
  const keyOfSecrets = randomBytes(32);
  /** What executes a version: a process for each run, or one that stays. In one sentence why there is none. */
  const open = async (
    version: PreparedVersion,
    of: VersionOf & Pick<RunnerWork, 'secrets'>,
  ): Promise<NamedProgram | ResidentRunner | string> => {
    const program = await programOf(host, version, of.secrets);
    if (typeof program === 'string' || !isResident(version.manifest)) return program;
    const resident = residentOf(host, program, version, of);
    // A start of the same program is the same process, with the same secrets.
    const what = JSON.stringify([of.workflow_version_id, resident.program, version.folders]);
    const key = createHmac('sha256', keyOfSecrets).update(what).digest('base64');
    const isComfyui = version.manifest.comfyui !== undefined;
    const runner =
      residents.get(key) ?? (isComfyui ? comfyuiOf(host, resident, version) : runResident(host, resident));
    residents.set(key, runner);
    return runner;
  };
  return {
    prepared: () => [...versions].flatMap(([id, folders]) => (host.folders.has(folders) ? [id] : [])),
    run: async (work, observe, signal) => {
      const began = performance.now();
      const { workflow: manifest } = work;
      if (!Value.Check(CodeManifest, manifest)) return failed(NO_MANIFEST);
      const { comfyui } = manifest;
      const why = whyNoComfyui(host.comfyui, host.supervisors.isolation, work, comfyui !== undefined);
      if (why !== null) return { outcome: 'not_runnable', why };
      const prepared = await prepareVersion(host, manifest, work, observe, signal);
      if (prepared.kind === 'stopped') return { outcome: 'cancelled', forced: false, files: [] };
      if (prepared.kind === 'failed') return { outcome: 'failed', error: prepared.error, files: [] };
      using version = prepared;
      versions.set(work.workflow_version_id, version.folders);
      const opened = await open(version, work);
      if (typeof opened === 'string') return failed(opened);
      const observed = observing(
        observe,
        version.preparing === null ? 0 : performance.now() - began,
        version,
      );
      if (!('keep' in opened)) return await runProgram(host, opened, { work, observe: observed, signal });
      if (work.deployment_id !== null)
        host.residents.endEarlier(residentName(work), work.workflow_version_id);
      const prompt = comfyui === undefined ? work : { ...work, workflow: comfyui.workflow };
      return await opened.run(prompt, observed, signal);
    },
    keep: async (kept, observe, signal) => {
      const { workflow: manifest } = kept;
      if (!Value.Check(CodeManifest, manifest)) return cannotBeKept(NO_MANIFEST);
      const isComfyui = manifest.comfyui !== undefined;
      const choice = { kind: 'code' as const, ...(isComfyui && { server: 'comfyui' as const }) };
      const why = whyNoComfyui(host.comfyui, host.supervisors.isolation, { choice }, isComfyui);
      if (why !== null) return cannotBeKept(why);
      const prepared = await prepareVersion(host, manifest, kept, observe, signal);
      if (prepared.kind !== 'prepared_version') return prepared;
      versions.set(kept.workflow_version_id, prepared.folders);
      const opened = await open(prepared, kept);
      if (typeof opened === 'string') {
        prepared[Symbol.dispose]();
        return cannotBeKept(opened);
      }
      return {
        kind: 'kept',
        hasSecrets: Object.keys(kept.secrets).length > 0,
        load: (slot, untilMs) => ('keep' in opened ? opened.keep({ ...kept, slot }, untilMs) : NOTHING_STAYS),
        [Symbol.dispose]: () => prepared[Symbol.dispose](),
      };
    },
  };
};

const cannotBeKept = (why: string): NotPrepared => ({
  kind: 'failed',
  error: errorOf('prepare_failed', why),
});

const NOTHING_STAYS = {
  state: 'failed',
  why: 'Each run of this version has a process of its own, so nothing of it stays loaded. Use keep_prepared, or write mode = "resident".',
} as const;

const MOST_RESIDENTS = 256;
/** A heartbeat lists them. */
const MOST_PREPARED = 64;
const NO_MANIFEST =
  'The workflow of the version is no manifest of code that this executor knows. Update the executor, or deploy the version again.';

const failed = (why: string): RunResult => ({
  outcome: 'failed',
  error: errorOf('prepare_failed', why),
  files: [],
});

const isResident = ({ run, comfyui, mode }: CodeManifest): boolean =>
  run !== undefined || comfyui !== undefined || mode === 'resident';

/** What was prepared is what is executed, and the run has waited for it too. */
const observing = (observe: RunObserver, preparedMs: number, version: PreparedVersion): RunObserver => ({
  ...observe,
  begin: (loadingMs) =>
    observe.begin(
      preparedMs + loadingMs,
      version.manifest.code_sha256,
      version.environment.sha256,
      version.preparing,
    ),
});

/** A program as the manifest says, or in one sentence why there is none. */
const programOf = async (
  { env: { PATH = '' }, folders, comfyui }: RunnerHost & PrepareHost,
  version: PreparedVersion,
  secrets: RunnerWork['secrets'],
): Promise<NamedProgram | string> => {
  const { manifest, environment, harness } = version;
  const { code, bin, python } = environment;
  const [wrong] = variableProblems(manifest);
  if (wrong !== undefined)
    return `The manifest of the version cannot be used: ${wrong.path.join('.')}. ${wrong.why}, and deploy the version again.`;
  const ofComfyui = manifest.comfyui === undefined ? [] : comfyuiPaths(comfyui);
  const [name = '', ...args] = harness?.command ?? manifest.command ?? [];
  const command = await locate(name, { code, bin, python, path: PATH });
  if (command === null) return whyNoCommand(name, manifest);
  const isOwn = command.startsWith(`${code}/`);
  if (isOwn && (await whyNotExecutable(command)) !== null)
    return `The command ${name} of the manifest is no file of the code that can be executed: it needs the mode 0755.`;
  const program: OperatorCommand = {
    command,
    args,
    cwd: code,
    env: environmentOf(version, PATH, secrets),
    path: PATH,
  };
  // Nothing that an organisation writes leads the view anywhere: neither arguments nor variables, and of its folders only a link to a Python.
  const seen: OperatorCommand = {
    command,
    args: environment.tools,
    cwd: code,
    env: {},
    readable: [...version.folders, ...ofComfyui],
    path: PATH,
  };
  return {
    name: manifest.run ?? (manifest.comfyui === undefined ? basename(name) : 'ComfyUI'),
    program,
    view: (slot, withheld) =>
      programView(seen, slot, { ...withheld, written: [...withheld.written, folders.path] }),
    code: () => Promise.resolve(manifest.code_sha256),
  };
};

interface Places {
  readonly code: string;
  readonly bin: string | null;
  readonly python: string | null;
  readonly path: string;
}

/** Of what the version has first, then of the machine. */
const locate = async (name: string, { code, bin, python, path }: Places): Promise<string | null> => {
  if (isAbsolute(name)) return null;
  if (name.includes('/')) {
    const file = join(code, name);
    return file.startsWith(`${code}/`) ? file : null;
  }
  const own = bin === null ? null : await findTool(name, bin);
  if (own !== null) return own;
  if (PYTHONS.has(name) && python !== null) return python;
  return findTool(name, path);
};

const PYTHONS = new Set(['python', 'python3']);

const whyNoCommand = (name: string, { requirements }: CodeManifest): string =>
  name.includes('/')
    ? `The command ${name} of the manifest is not below the folder of the code: name a program on PATH, or a file of the code such as ./run.sh.`
    : `The executor has no ${name} on its PATH${requirements === undefined ? '' : `, and ${requirements} brings none`}. Its operator can install it.`;

/** What its operator sets for another program. */
const environmentOf = (
  { manifest, environment: { folder, bin, code, python }, models }: PreparedVersion,
  path: string,
  secrets: RunnerWork['secrets'],
): Record<string, string> => {
  const { PATH, PYTHONPATH, ...own } = { ...manifest.env, ...secrets };
  // Others are not in the view.
  const ofSystem = path.split(delimiter).filter((each) => isOfSystem(realPath(each) ?? '', []));
  // A module of the folder would be in the way of one of ComfyUI with its name.
  const ownModules = manifest.comfyui === undefined ? [code] : [];
  const modules = [...ownModules, ...(PYTHONPATH === undefined ? [] : [PYTHONPATH])];
  const folders = [bin, python === null ? null : dirname(python), ...(PATH?.split(delimiter) ?? ofSystem)];
  return {
    PYTHONDONTWRITEBYTECODE: '1',
    ...(folder !== null && bin === join(folder, 'bin') ? { VIRTUAL_ENV: folder } : {}),
    ...own,
    PATH: [...new Set(folders.filter((each) => each !== null))].join(delimiter),
    ...(modules.length === 0 ? {} : { PYTHONPATH: modules.join(delimiter) }),
    ...(models === null ? {} : { RUNLEDGER_MODELS: models }),
  };
};

const comfyuiPaths = (comfyui: PrepareHost['comfyui']): string[] =>
  comfyui === null ? [] : [comfyui.folder, ...comfyui.sites].filter((path) => existsSync(path));

const comfyuiOf = (
  host: CodeHost,
  resident: NamedResident,
  { nodes, models }: PreparedVersion,
): ResidentRunner => {
  const { comfyui: installation, silenceMs } = host;
  if (installation === null) throw new Error('There is no ComfyUI, and it was prepared.');
  const { resident: name, program, view, hold = () => new DisposableStack() } = resident;
  const version = {
    installation,
    launcher: program,
    nodes,
    models,
    resident: name,
    view,
    limits: program.limits,
    hold,
    silenceMs,
  };
  return comfyuiVersionRunner(host, version);
};

const DEFAULT_START_TIMEOUT_S = 300;
const DEFAULT_IDLE_TIMEOUT_S = 600;

type VersionOf = Pick<RunnerWork, 'deployment_id' | 'workflow_version_id'>;

const residentName = ({ deployment_id, workflow_version_id }: VersionOf): string =>
  deployment_id === null ? `version ${workflow_version_id}` : `deployment ${deployment_id}`;

const residentOf = (
  host: PrepareHost,
  program: NamedProgram,
  { manifest, folders }: PreparedVersion,
  of: VersionOf,
): NamedResident => {
  const {
    start_timeout_s = DEFAULT_START_TIMEOUT_S,
    idle_timeout_s = DEFAULT_IDLE_TIMEOUT_S,
    max_runs = null,
  } = manifest;
  return {
    ...program,
    resident: residentName(of),
    program: {
      ...program.program,
      limits: {
        startTimeoutMs: start_timeout_s * 1_000,
        idleTimeoutMs: idle_timeout_s * 1_000,
        maxRuns: max_runs,
        preload: false,
      },
    },
    hold: () => host.folders.hold(folders),
  };
};
