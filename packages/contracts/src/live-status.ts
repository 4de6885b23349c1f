import type { GpuModel } from './gpu.ts';
import { isEnded, type Run } from './run.ts';

/** A short sentence about the current step; null at the end. `reported` is what the attempt said last. */
export const liveStatus = (run: Run, reported: string | null): string | null => {
  if (isEnded(run)) return null;
  if (run.status === 'queued') return `waiting for ${withArticle(run.request.gpu)}`;
  if (run.cancel) return 'cancelling';
  switch (run.status) {
    case 'started':
      return reported ?? `starting on ${withArticle(run.request.gpu)}`;
    case 'running':
      return reported ?? 'running';
    case 'uploading':
      return 'storing output files';
  }
};

const withArticle = (gpu: GpuModel): string => `${gpu.startsWith('T') ? 'a' : 'an'} ${gpu}`;
