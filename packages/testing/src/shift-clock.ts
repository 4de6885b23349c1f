// Preloaded into a process of ours (`--import`): shifts its clock by this number of milliseconds.
const shiftMs = Number(process.env['TEST_CLOCK_SHIFT_MS']);

globalThis.Date = new Proxy(Date, {
  construct: (real, given: unknown[], made) =>
    Reflect.construct(real, given.length === 0 ? [real.now() + shiftMs] : given, made),
  get: (real, name, asked) => (name === 'now' ? () => real.now() + shiftMs : Reflect.get(real, name, asked)),
});
