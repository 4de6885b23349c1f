import type { GpuSlot } from '../../../gpu-slots.ts';
import type { ResidentProcesses } from '../../../residents/resident-processes.ts';
import { openForeignServer } from '../../model-server/foreign-server.ts';
import type { ModelServer, ServerLease, ServerType } from '../../model-server/model-server.ts';
import { openOwnServer } from '../../model-server/own-server.ts';
import { comfyApi, type ComfyApi } from './comfy-api.ts';
import type { ComfyEntry } from './server-list.ts';

export type ComfyServer = ModelServer<ComfyApi>;
export type ComfyLease = ServerLease<ComfyApi>;

/** The server of one slot. */
export const openComfyServer = (
  { url, command, output }: ComfyEntry,
  slot: GpuSlot,
  residents: ResidentProcesses,
  startTimeoutMs: number,
): ComfyServer => {
  const cwd = command?.cwd ?? null;
  const type = { ...COMFYUI, connect: (at: URL) => comfyApi({ url: at, output, cwd }) };
  return command === null
    ? openForeignServer(type, url, startTimeoutMs)
    : openOwnServer({ type, url, command, slot, startTimeoutMs }, residents);
};

const NAME = 'The ComfyUI server of the executor';

const COMFYUI: Omit<ServerType<ComfyApi>, 'connect'> = {
  title: 'ComfyUI',
  name: NAME,
  probe: async (api) => {
    const answer = await api.get('system_stats');
    if (answer.kind === 'answered' && answer.status === 200) return { kind: 'ready' };
    const why = answer.kind === 'unreachable' ? answer.why : `status ${answer.status}`;
    const advice = 'Start it, or correct its address in EXECUTOR_COMFYUI.';
    return { kind: 'loading', why: `${NAME} does not answer (${why}). ${advice}` };
  },
  // It takes long, and needs no card before it has a workflow.
  preload: true,
  scratch: [],
  runLine: (line) => line,
  shownLine: (line) => line,
  hear: null,
};
