#include "schedules.hpp"
