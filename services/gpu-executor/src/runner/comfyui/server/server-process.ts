import type { GpuSlot } from '../../../gpu/gpu-slots.ts';
import type { ResidentConnection, ResidentSpec } from '../../../resident-process/resident-spec.ts';
import type { OperatorCommand } from '../../operator-command.ts';
import { readServerOutput, type ServerOutput } from '../../model-server/server-output.ts';
import { untilAnswering, type ComfyApi } from './comfy-api.ts';

export interface ServerConnection extends ResidentConnection, ServerOutput {
  /** Aborted when the process has ended. */
  readonly gone: AbortSignal;
  /** The node classes that this process is known to have. */
  readonly knownNodes: Set<string>;
}

interface ServerProcess {
  readonly api: ComfyApi;
  readonly command: OperatorCommand;
  readonly slot: GpuSlot;
  readonly startTimeoutMs: number;
}

/** The executor's own server: it is started with the executor, because that takes long, and kept between runs. */
export const serverProcess = ({
  api,
  command,
  slot,
  startTimeoutMs,
}: ServerProcess): ResidentSpec<ServerConnection> => ({
  name: `ComfyUI of slot ${slot.index}`,
  ...command,
  limits: { startTimeoutMs, idleTimeoutMs: null, maxRuns: null, preload: true },
  connect: (process, gone) => {
    process.stdin.end();
    return {
      ...readServerOutput(process, gone),
      // When it ends first, its end says why, and nobody waits for this any more.
      ready: untilAnswering(api, gone).then(({ kind }) =>
        kind === 'answers' ? null : new Promise(() => undefined),
      ),
      gone,
      knownNodes: new Set(),
    };
  },
  askToEnd: (process) => process.terminate(),
});
