import { Type, type Static } from 'typebox';

/** The closed list of the run API, section 2.2. */
export const GPU_MODELS = ['T4', 'L4', 'A10G', 'L40S', 'A100', 'A100-80GB', 'H100'] as const;

export const GpuModel = Type.Enum([...GPU_MODELS]);
export type GpuModel = Static<typeof GpuModel>;

const models: ReadonlySet<string> = new Set(GPU_MODELS);
export const isGpuModel = (text: string): text is GpuModel => models.has(text);
