import { networkHold } from '../../network/network-hold.ts';
import type { ComfyuiInstallation } from '../../code/comfyui-environment.ts';
import type { Isolation } from '../../isolation/isolation.ts';
import type { ResidentSpec, ResidentConnection } from '../../residents/start-process.ts';
import { openVersionServer } from '../comfyui/comfy-server.ts';
import { comfyuiRunner } from '../comfyui/comfyui-runner.ts';
import type { OperatorCommand } from '../operator-command.ts';
import type { RunnerHost } from '../runner-type.ts';
import type { ResidentRunner } from '../program/resident-runner.ts';
import type { RunnerWork } from '../runner.ts';

/** A prepared ComfyUI of a version. */
export interface ComfyuiVersion {
  readonly installation: ComfyuiInstallation;
  /** What starts it, with an argument behind it. */
  readonly launcher: OperatorCommand;
  readonly nodes: ReadonlyMap<string, string>;
  readonly models: string | null;
  readonly resident: string;
  readonly view: ResidentSpec<ResidentConnection>['view'];
  readonly limits: {
    readonly startTimeoutMs: number;
    readonly idleTimeoutMs: number | null;
    readonly maxRuns: number | null;
  };
  readonly hold: () => Disposable;
  readonly silenceMs: number;
}

/** As the launcher has it. */
const SOCKET = 'comfyui.sock';

/** Executes prompts on a ComfyUI of its own in each slot, which other programs do not reach. Its first run starts it. */
export const comfyuiVersionRunner = (host: RunnerHost, version: ComfyuiVersion): ResidentRunner => {
  const { installation, launcher, nodes, models, resident: name, view, limits, hold, silenceMs } = version;
  const servers = host.slots.map((slot) => {
    const argument = {
      folder: installation.folder,
      nodes: Object.fromEntries(nodes),
      models,
      args: slot.device === '' ? ['--cpu'] : [],
    };
    const server = openVersionServer(
      {
        socket: SOCKET,
        command: { ...launcher, args: [...launcher.args, JSON.stringify(argument)] },
        slot,
        startTimeoutMs: limits.startTimeoutMs,
        version: { name, view, limits: { ...limits, preload: false }, hold },
      },
      host.residents,
    );
    return [slot.index, server] as const;
  });
  const bySlot = new Map(servers);
  const runner = comfyuiRunner({
    executorName: host.executorName,
    servers: bySlot,
    limits: {
      cancelGraceMs: host.cancelGraceMs,
      silenceMs,
      unreachableMs: limits.startTimeoutMs,
    },
    log: host.log,
  });
  const keep: ResidentRunner['keep'] = (run, untilMs) =>
    bySlot.get(run.slot.index)?.keep(run, untilMs) ?? { state: 'occupied', why: null };
  return { ...runner, keep };
};

/** Why this executor cannot execute a version for ComfyUI; null when it can. */
export const whyNoComfyui = (
  installation: ComfyuiInstallation | null,
  isolation: Isolation,
  { choice }: Pick<RunnerWork, 'choice'>,
  isComfyui: boolean,
): string | null => {
  const server = choice.kind === 'code' ? choice.server : undefined;
  if ((server === 'comfyui') !== isComfyui)
    return isComfyui
      ? 'The version has a ComfyUI workflow, and its machine runs other code: name a machine with {"kind":"code","server":"comfyui"}.'
      : 'The machine runs versions with a ComfyUI workflow, and this version has none: name a machine with {"kind":"code"}.';
  if (!isComfyui) return null;
  if (installation === null)
    return 'The executor has no ComfyUI for the workflows of folders: EXECUTOR_COMFYUI_FOLDER is not set.';
  // It listens on a port, which Landlock forbids to who may not have the network of the machine.
  return networkHold(isolation) === 'landlock' ? NEEDS_BUBBLEWRAP : null;
};

const NEEDS_BUBBLEWRAP =
  'The executor isolates programs by Landlock, which lets none listen on a port, and ComfyUI must. Its operator can install bubblewrap, or set EXECUTOR_COMFYUI for servers that they trust.';
