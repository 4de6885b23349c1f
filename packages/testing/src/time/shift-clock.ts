// Loaded before a process of ours (`--import`): its clock is off by so many milliseconds from then on.
const shiftMs = Number(process.env['TEST_CLOCK_SHIFT_MS']);

globalThis.Date = new Proxy(Date, {
  construct: (real, given: unknown[], made) =>
    Reflect.construct(real, given.length === 0 ? [real.now() + shiftMs] : given, made),
  get: (real, name, asked) => (name === 'now' ? () => real.now() + shiftMs : Reflect.get(real, name, asked)),
});
