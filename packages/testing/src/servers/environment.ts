/** The environment of the test run, which child processes inherit. The rest of the test harness takes it from here. */
export const environment = process.env;
