import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';
import { CodeManifest } from '@runledger/contracts/catalogue/code';
import { errorOf } from '@runledger/contracts/events/run-error';
import { LRUCache } from 'lru-cache';
import { Value } from 'typebox/value';
import { prepareVersion, type PrepareHost, type PreparedVersion } from '../../code/prepare-code.ts';
import { findTool } from '../../code/python.ts';
import { isOfSystem } from '../../isolation/hidden-paths.ts';
import { programView } from '../../view/program-view.ts';
import { realPath } from '../../view/real-paths.ts';
import { isReserved, whyNotExecutable, type OperatorCommand } from '../operator-command.ts';
import { runProgram, type NamedProgram } from '../program/program-runner.ts';
import { runResident, type NamedResident } from '../program/resident-runner.ts';
import type { OpenRunner, RunnerHost } from '../runner-type.ts';
import type { Runner, RunnerWork, RunObserver, RunResult } from '../runner.ts';

/** Executes the code that comes with a version: prepares it, and then runs it as a program. */
export const codeRunner = (host: RunnerHost & PrepareHost): Runner & Pick<OpenRunner, 'prepared'> => {
  /** By what they start. One that is forgotten is ended by the next process of its slot. */
  const residents = new LRUCache<string, Runner>({ max: MOST_RESIDENTS });
  /** What each version needs, those that were used last. */
  const versions = new LRUCache<string, readonly string[]>({ max: MOST_PREPARED });
  return {
    prepared: () => [...versions].flatMap(([id, folders]) => (host.folders.has(folders) ? [id] : [])),
    run: async (work, observe, signal) => {
      const began = performance.now();
      const { workflow: manifest } = work;
      if (!Value.Check(CodeManifest, manifest)) return failed(NO_MANIFEST);
      const prepared = await prepareVersion(host, manifest, work, observe, signal);
      if (prepared.kind === 'stopped') return { outcome: 'cancelled', forced: false, files: [] };
      if (prepared.kind === 'failed') return { outcome: 'failed', error: prepared.error, files: [] };
      using version = prepared;
      versions.set(work.workflow_version_id, version.folders);
      const program = await programOf(host, version);
      if (typeof program === 'string') return failed(program);
      const observed = observing(
        observe,
        version.preparing === null ? 0 : performance.now() - began,
        version,
      );
      if (!isResident(manifest)) return await runProgram(host, program, { work, observe: observed, signal });
      const resident = residentOf(host, program, version, work);
      // A start of the same program is the same process.
      const key = JSON.stringify([work.workflow_version_id, resident.program, version.folders]);
      const runner = residents.get(key) ?? runResident(host, resident);
      residents.set(key, runner);
      if (work.deployment_id !== null) host.residents.endEarlier(resident.resident, work.workflow_version_id);
      return await runner.run(work, observed, signal);
    },
  };
};

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

const isResident = ({ run, mode }: CodeManifest): boolean => run !== undefined || mode === 'resident';

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
  { env: { PATH = '' }, folders }: RunnerHost & PrepareHost,
  version: PreparedVersion,
): Promise<NamedProgram | string> => {
  const { manifest, environment, harness } = version;
  const { code, bin, python } = environment;
  const reserved = Object.keys(manifest.env ?? {}).find(isReserved);
  if (reserved !== undefined)
    return `The manifest sets the variable ${reserved}, which the executor sets itself. Take it out of "env".`;
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
    env: environmentOf(version, PATH),
    path: PATH,
  };
  // Nothing that an organisation writes leads the view anywhere: neither arguments nor variables, and of its folders only a link to a Python.
  const seen: OperatorCommand = {
    command,
    args: environment.tools,
    cwd: code,
    env: {},
    readable: version.folders,
    path: PATH,
  };
  return {
    name: manifest.run ?? basename(name),
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
): Record<string, string> => {
  const { PATH, PYTHONPATH, ...own } = manifest.env ?? {};
  // Others are not in the view.
  const ofSystem = path.split(delimiter).filter((each) => isOfSystem(realPath(each) ?? '', []));
  const folders = [bin, python === null ? null : dirname(python), ...(PATH?.split(delimiter) ?? ofSystem)];
  return {
    PYTHONDONTWRITEBYTECODE: '1',
    ...(folder !== null && bin === join(folder, 'bin') ? { VIRTUAL_ENV: folder } : {}),
    ...own,
    PATH: [...new Set(folders.filter((each) => each !== null))].join(delimiter),
    PYTHONPATH: [code, ...(PYTHONPATH === undefined ? [] : [PYTHONPATH])].join(delimiter),
    ...(models === null ? {} : { RUNLEDGER_MODELS: models }),
  };
};

const DEFAULT_START_TIMEOUT_S = 300;
const DEFAULT_IDLE_TIMEOUT_S = 600;

const residentOf = (
  host: PrepareHost,
  program: NamedProgram,
  { manifest, folders }: PreparedVersion,
  { deployment_id, workflow_version_id }: RunnerWork,
): NamedResident => {
  const {
    start_timeout_s = DEFAULT_START_TIMEOUT_S,
    idle_timeout_s = DEFAULT_IDLE_TIMEOUT_S,
    max_runs = null,
  } = manifest;
  return {
    ...program,
    resident: deployment_id === null ? `version ${workflow_version_id}` : `deployment ${deployment_id}`,
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
