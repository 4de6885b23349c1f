/** Of its only slot. */
export const SLOT = 'a-slot';

/** Writes a line as a server of Cog logs it; at the level `DEBUG` only when it was told to. */
export const logLine = (level: 'DEBUG' | 'INFO' | 'ERROR', target: string, fields: object): void => {
  if (level === 'DEBUG' && process.env['COG_LOG_LEVEL'] !== 'debug') return;
  process.stdout.write(`${JSON.stringify({ level, fields, target })}\n`);
};
